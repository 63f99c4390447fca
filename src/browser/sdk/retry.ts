/** Waits between tries of a call that met a network error or an overloaded service (milliseconds). */
const waitsMs = [500, 2000, 6000];

/** Runs `work` again while it throws something `isWorthIt`, a few times. @throws what the last try threw */
export async function withRetries<Value>(
  work: () => Promise<Value>,
  isWorthIt: (err: unknown) => boolean,
): Promise<Value> {
  for (const waitMs of waitsMs) {
    try {
      return await work();
    } catch (err) {
      if (!isWorthIt(err)) throw err;
      await new Promise((resolve) => setTimeout(resolve, waitMs * (0.8 + Math.random() * 0.4)));
    }
  }
  return work();
}
