import { setImmediate as nextTurn } from 'node:timers/promises';

/** Yields to other work in the event loop. */
export type Pause = () => Promise<unknown>;

/** Runs a long computation in slices. It pauses at each `yield`, so that requests are not blocked until its end. */
export async function runInSlices<T>(work: Generator<void, T>, pause: Pause = () => nextTurn()): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Runs a sliced computation to its end without pauses. */
export function runAtOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Maximum duration of a slice, in milliseconds. */
const turnMs = 10;

/**
 * Creates a pacer that a loop awaits between its steps. It pauses once the current slice has reached its maximum
 * duration.
 */
export function createPacer(nowMs: () => number = () => performance.now(), pause: Pause = () => nextTurn()): Pause {
  let begunMs = nowMs();
  return async () => {
    if (nowMs() - begunMs < turnMs) return;
    await pause();
    begunMs = nowMs();
  };
}
