import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../startup-error.ts';
import { isDatabaseUnavailable } from './pool.ts';
import { tlsProblem } from './tls.ts';

/** How long a start waits for a database that does not answer (milliseconds). */
export const databaseWaitMs = 30_000;

const retryMs = 250;

type Options = {
  /** Time limit, counted from the first failure (milliseconds). */
  limitMs?: number;
  /** Error for the operator after the limit. */
  gaveUp?: (err: Error) => StartupError;
};

/**
 * Runs a step of the start and repeats it while the database is unavailable, so that a restart or failover does not
 * abort the start.
 * @param step must be safe to repeat after any interruption
 * @throws StartupError after the limit; other errors of the step at once
 */
export async function retryStart<T>(step: () => Promise<T>, options: Options = {}): Promise<T> {
  const { limitMs = databaseWaitMs, gaveUp = (err) => unavailable(err, limitMs) } = options;
  let endMs: number | null = null;
  for (;;) {
    try {
      return await step();
    } catch (err) {
      // An error that names its step has the database's error as its cause.
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
    `DATABASE_URL: the database responded at first, and then was unavailable for ${limitMs / 1000} s ` +
      `(${err.message || err.code}). Check its log.`,
  );
}
