/** Wakes when retries are due, so that they need not wait for the next poll. */
export type Alarms = {
  /** Something is due so many milliseconds from now. */
  set: (inMs: number) => void;
  stop: () => void;
};

/** What falls due within one slice wakes once, at its end (milliseconds). */
const sliceMs = 250;
/** What is due later than this is left to the poll: its wait is uncertain by much more than a poll anyway (milliseconds). */
const horizonMs = 60_000;

export function createAlarms(wake: () => void, now: () => number): Alarms {
  const timers = new Map<number, NodeJS.Timeout>();

  function ring(slice: number): void {
    timers.delete(slice);
    wake();
  }

  return {
    set: (inMs) => {
      if (inMs > horizonMs) return;
      const nowMs = now();
      const slice = Math.floor((nowMs + inMs) / sliceMs) + 1;
      if (!timers.has(slice)) timers.set(slice, setTimeout(ring, slice * sliceMs - nowMs, slice));
    },
    stop: () => {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
