/** Lets concurrent calls with the same key share one task. */
export type SharedWork<Result> = {
  /**
   * Starts the task for a key, or joins it if it is already running.
   * @param signal aborts when this caller no longer needs the result
   * @param work receives a signal that aborts when no caller needs the result any more
   */
  join: (
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ) => Promise<Result>;
  has: (key: string) => boolean;
  /** Returns the number of running and queued tasks. */
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
    // The running task has been abandoned. It may fail because of the abort, or be too far along to stop, so wait until
    // it ends and then try again.
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
