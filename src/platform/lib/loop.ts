/** Repeated work. `stop` resolves when the current round has ended. */
export type Loop = { stop: () => Promise<void> };

/**
 * Runs a round now, and each next one after the number of milliseconds that the round returns.
 * @param round must not reject; it can ask whether to end early
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
