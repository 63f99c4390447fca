/**
 * Time in which nothing was heard, as this process could have heard it: a tick of the event loop that comes late counts
 * as one tick, because what arrived meanwhile is read after it. So a starved process waits longer, by itself.
 */
export type Silence = {
  /** Something was heard. */
  end: () => void;
  tick: (nowMs: number) => void;
  /** Time that this process had for hearing something (milliseconds). */
  availableMs: () => number;
  /** Time on the clock (milliseconds). */
  elapsedMs: () => number;
};

/** Pause between two ticks (milliseconds). */
export const tickMs = 25;

/** @param clock monotonic, in milliseconds */
export function createSilence(clock: () => number): Silence {
  let sinceMs = clock();
  let tickedMs = sinceMs;
  let availableMs = 0;
  return {
    end: () => {
      sinceMs = clock();
      availableMs = 0;
    },
    tick: (nowMs) => {
      availableMs += Math.min(nowMs - Math.max(tickedMs, sinceMs), tickMs);
      tickedMs = nowMs;
    },
    availableMs: () => availableMs,
    elapsedMs: () => clock() - sinceMs,
  };
}
