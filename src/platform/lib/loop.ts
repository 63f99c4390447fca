/** Running loop. `stop` resolves when the current round has ended. */
export type Loop = { stop: () => Promise<void> };

/**
 * Runs the first round immediately. Each round returns the delay before the next round, in milliseconds.
 * @param round must not reject; it can call `isStopped` to end early
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
