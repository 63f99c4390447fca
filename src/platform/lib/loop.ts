/** Work that is done again and again; `stop` resolves when the round under way has ended. */
export type Loop = { stop: () => Promise<void> };

/**
 * Does a round now, and the next so many milliseconds after it as the round says.
 * @param round must not reject; it may ask whether it should end early
 */
export function startLoop(round: (isStopped: () => boolean) => Promise<number>): Loop {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function runOnce(): Promise<void> {
    const waitMs = await round(() => stopped);
    if (!stopped) timer = setTimeout(next, waitMs);
  }

  let running = runOnce();
  function next(): void {
    running = runOnce();
  }
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
