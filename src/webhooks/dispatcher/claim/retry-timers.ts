/** Wakes the worker when retries are due, so that they need not wait for the next poll. */
export type RetryTimers = {
  /** A retry of an endpoint is due in so many milliseconds. */
  set: (endpointId: number, inMs: number) => void;
  stop: () => void;
};

/** Retries due within one slice share a timer, which fires at its end (milliseconds). */
const sliceMs = 250;
/** Later retries are left to the poll: their jitter is much longer than a poll (milliseconds). */
const horizonMs = 60_000;

/** @param onDue gets the endpoints with due retries */
export function createRetryTimers(onDue: (endpointIds: readonly number[]) => void, now: () => number): RetryTimers {
  let isStopped = false;
  const slices = new Map<number, { timer: NodeJS.Timeout; endpointIds: Set<number> }>();

  function end(slice: number): void {
    const endpointIds = [...(slices.get(slice)?.endpointIds ?? [])];
    slices.delete(slice);
    onDue(endpointIds);
  }

  return {
    set: (endpointId, inMs) => {
      if (isStopped || inMs > horizonMs) return;
      const nowMs = now();
      const slice = Math.floor((nowMs + inMs) / sliceMs) + 1;
      const known = slices.get(slice);
      if (known !== undefined) return void known.endpointIds.add(endpointId);
      slices.set(slice, { timer: setTimeout(end, slice * sliceMs - nowMs, slice), endpointIds: new Set([endpointId]) });
    },
    stop: () => {
      isStopped = true;
      for (const { timer } of slices.values()) clearTimeout(timer);
      slices.clear();
    },
  };
}
