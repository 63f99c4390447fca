import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../startup-error.ts';
import { isDatabaseUnavailable } from './pool.ts';
import { tlsProblem } from './tls.ts';

/** Time for which startup waits for a database that does not respond, in milliseconds. */
export const databaseWaitMs = 30_000;

const retryMs = 250;

type Options = {
  /** Time to keep retrying, in milliseconds, counted from the first failure. */
  limitMs?: number;
  /** Builds the error that the operator sees after the timeout. */
  gaveUp?: (err: Error) => StartupError;
};

/**
 * Runs a startup step and retries it while the database is unavailable, so that a restart or failover does not abort
 * the startup.
 * @param step must be safe to repeat after any interruption
 * @throws StartupError after the timeout; rethrows any other error of the step immediately
 */
export async function retryStart<T>(step: () => Promise<T>, options: Options = {}): Promise<T> {
  const { limitMs = databaseWaitMs, gaveUp = (err) => unavailable(err, limitMs) } = options;
  let endMs: number | null = null;
  for (;;) {
    try {
      return await step();
    } catch (err) {
      // An error that names the failed step has the database error as its cause.
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
