import { setImmediate as nextTurn } from 'node:timers/promises';

/** Yields to other work of the process. */
export type Pause = () => Promise<unknown>;

/** Runs a long computation in slices. It pauses at each `yield`, so that requests do not wait for its end. */
export async function runInSlices<T>(work: Generator<void, T>, pause: Pause = () => nextTurn()): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Runs a computation without pauses. */
export function runAtOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Maximum duration of a slice (milliseconds). */
const turnMs = 10;

/**
 * Creates a pacer for loops that await it between their steps. It pauses if the last pause was longer ago than a slice
 * should take.
 */
export function createPacer(nowMs: () => number = () => performance.now(), pause: Pause = () => nextTurn()): Pause {
  let begunMs = nowMs();
  return async () => {
    if (nowMs() - begunMs < turnMs) return;
    await pause();
    begunMs = nowMs();
  };
}
