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
