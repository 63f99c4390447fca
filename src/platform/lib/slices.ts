/** Pauses a computation so that the event loop can do other work. */
export type Pause = () => Promise<unknown>;

/** Resolves in the next event loop turn. */
export const nextTurn: Pause = () => new Promise((resolve) => setImmediate(resolve));

/** Runs a long computation in slices. It pauses at each `yield`, so that requests are not blocked until its end. */
export async function runInSlices<T>(work: Generator<void, T>, pause = nextTurn): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Runs a computation that is divided into slices, but without pauses. */
export function runAtOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Maximum duration of a slice, in milliseconds. */
const turnMs = 10;

/**
 * Creates a pacer, which a loop awaits between its steps. It pauses if the current slice has lasted for the maximum
 * duration.
 */
export function createPacer(nowMs: () => number = () => performance.now(), pause = nextTurn): Pause {
  let begunMs = nowMs();
  return async () => {
    if (nowMs() - begunMs < turnMs) return;
    await pause();
    begunMs = nowMs();
  };
}
