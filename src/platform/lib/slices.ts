import { setImmediate as nextTurn } from 'node:timers/promises';

/** Lets other work of the process run. */
export type Pause = () => Promise<unknown>;

/** Runs a long computation in slices: pauses at each `yield`, so that requests do not wait for its end. */
export async function runInSlices<T>(work: Generator<void, T>, pause: Pause = () => nextTurn()): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Runs it without a pause. */
export function runAtOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** A turn of work that is done in slices lasts this long (milliseconds). */
const turnMs = 10;

/** Pauses where its last pause is longer ago than a turn should last: for loops that await it between their steps. */
export function createPacer(nowMs: () => number = () => performance.now(), pause: Pause = () => nextTurn()): Pause {
  let begunMs = nowMs();
  return async () => {
    if (nowMs() - begunMs < turnMs) return;
    await pause();
    begunMs = nowMs();
  };
}
