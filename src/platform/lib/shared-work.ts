/** Work that parallel calls with one key share. */
export type SharedWork<Result> = {
  /**
   * Starts the work, or joins it where it is under way.
   * @param signal aborts when this caller does not wait any more
   * @param work gets a signal that aborts when no caller waits any more
   */
  join: (
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ) => Promise<Result>;
  has: (key: string) => boolean;
  /** Work under way and waiting. */
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
    const known = entries.get(key);
    // Abandoned work may fail of that alone, or have gone too far to stop.
    if (known?.abandoned.signal.aborted) return known.result.catch(() => join(key, signal, work));
    const entry = known ?? begin(key, work);
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
