/** Waits between the statements of a loop, so that each statement handles more rows. */
export type Throttle = {
  /** Resolves when the interval since the last call has passed, or when `skip` is called. */
  wait: () => Promise<void>;
  /** Ends the current wait, or makes the next one end immediately. */
  skip: () => void;
};

/**
 * Creates a throttle.
 * @param intervalMs interval, in milliseconds; read at each call of `wait`
 * @param now monotonic clock, in milliseconds
 */
export function createThrottle(intervalMs: () => number, now: () => number): Throttle {
  let nextMs = 0;
  let endWait: () => void = () => {};
  return {
    wait: async () => {
      const waitMs = nextMs - now();
      if (waitMs > 0)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, waitMs);
          endWait = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      nextMs = now() + intervalMs();
    },
    skip: () => {
      nextMs = 0;
      endWait();
    },
  };
}
