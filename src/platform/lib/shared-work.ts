/** Work shared by concurrent calls with the same key. */
export type SharedWork<Result> = {
  /**
   * Starts the work, or joins it if it is under way.
   * @param signal aborts when this caller no longer waits
   * @param work gets a signal that aborts when no caller waits any more
   */
  join: (
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ) => Promise<Result>;
  has: (key: string) => boolean;
  /** Number of running and waiting works. */
  count: () => number;
};

type Entry<Result> = { result: Promise<Result>; callers: number; abandoned: AbortController };

export function createSharedWork<Result>(): SharedWork<Result> {
  const entries = new Map<string, Entry<Result>>();

  function begin(key: string, work: (signal: AbortSignal) => Promise<Result>): Entry<Result> {
    const abandoned = new AbortController();
    const result = work(abandoned.signal).finally(() => entries.delete(key));
    const entry = { result, callers: 0, abandoned };
    entries.set(key, entry);
    return entry;
  }

  const join: SharedWork<Result>['join'] = async (key, signal, work) => {
    signal?.throwIfAborted();
    const pendingEntry = entries.get(key);
    // Abandoned work may fail because of that, or may have progressed too far to stop.
    if (pendingEntry?.abandoned.signal.aborted) return pendingEntry.result.catch(() => join(key, signal, work));
    const entry = pendingEntry ?? begin(key, work);
    const leave = (): void => {
      entry.callers -= 1;
      if (entry.callers === 0) entry.abandoned.abort();
    };
    entry.callers += 1;
    signal?.addEventListener('abort', leave, { once: true });
    try {
      return await entry.result;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  };

  return {
    join,
    has: (key) => entries.has(key),
    count: () => entries.size,
  };
}
