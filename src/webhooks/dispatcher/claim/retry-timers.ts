/** Says when retries are due, so that they need not wait for the next poll. */
export type RetryTimers = {
  /** Something of an endpoint is due so many milliseconds from now. */
  set: (endpointId: number, inMs: number) => void;
  stop: () => void;
};

/** What falls due within one slice rings once, at its end (milliseconds). */
const sliceMs = 250;
/**
 * What is due later than this is left to the poll: its wait is uncertain by much more than a poll anyway
 * (milliseconds).
 */
const horizonMs = 60_000;

/** @param ring is told the endpoints of which something is due */
export function createRetryTimers(ring: (endpointIds: readonly number[]) => void, now: () => number): RetryTimers {
  const slices = new Map<number, { timer: NodeJS.Timeout; endpointIds: Set<number> }>();

  function end(slice: number): void {
    const endpointIds = [...(slices.get(slice)?.endpointIds ?? [])];
    slices.delete(slice);
    ring(endpointIds);
  }

  return {
    set: (endpointId, inMs) => {
      if (inMs > horizonMs) return;
      const nowMs = now();
      const slice = Math.floor((nowMs + inMs) / sliceMs) + 1;
      const known = slices.get(slice);
      if (known !== undefined) return void known.endpointIds.add(endpointId);
      slices.set(slice, { timer: setTimeout(end, slice * sliceMs - nowMs, slice), endpointIds: new Set([endpointId]) });
    },
    stop: () => {
      for (const { timer } of slices.values()) clearTimeout(timer);
      slices.clear();
    },
  };
}
