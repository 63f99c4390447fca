import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../startup-error.ts';
import { isDatabaseUnavailable } from './pool.ts';
import { tlsProblem } from './tls.ts';

/** How long a database that does not answer is waited for by a start (milliseconds). */
export const databaseWaitMs = 30_000;

const retryMs = 250;

type Options = {
  /** Counted from the first failure. */
  limitMs?: number;
  /** What the operator reads after that. */
  gaveUp?: (err: Error) => StartupError;
};

/**
 * A step of the start, repeated while the database is unavailable: one that restarts, or fails over, while a process
 * starts must not end it.
 * @param step may be run again wherever it was broken off
 * @throws StartupError after the limit; at once what the step throws for another reason
 */
export async function retryStart<T>(step: () => Promise<T>, options: Options = {}): Promise<T> {
  const { limitMs = databaseWaitMs, gaveUp = (err) => unavailable(err, limitMs) } = options;
  let endMs: number | null = null;
  for (;;) {
    try {
      return await step();
    } catch (err) {
      // An error that names its step has the database's as its cause.
      const { cause = err } = err as { cause?: unknown };
      if (err instanceof StartupError || !isDatabaseUnavailable(cause) || tlsProblem(cause as Error) !== null)
        throw err;
      endMs ??= performance.now() + limitMs;
      if (performance.now() >= endMs) throw gaveUp(err as Error);
      await sleep(retryMs);
    }
  }
}

function unavailable(err: Error & { code?: string }, limitMs: number): StartupError {
  return new StartupError(
    `DATABASE_URL: the database answered at first, and then was not available for ${limitMs / 1000} s ` +
      `(${err.message || err.code}). Look into its log.`,
  );
}
