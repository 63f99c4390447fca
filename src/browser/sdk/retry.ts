import { SdkError } from './errors.ts';

/** Delays before retries of a call that failed temporarily, in milliseconds. */
const retryDelaysMs = [500, 2000, 6000];

/** Returns whether a retry may succeed: after no response (status 0), too many requests, or a server error. */
export const isTransient = (err: unknown): boolean =>
  err instanceof SdkError && err.kind !== 'blocked' && (err.status === 0 || err.status === 429 || err.status >= 500);

/** Returns whether an error means that the session has ended. */
export const isConflict = (err: unknown): boolean => err instanceof SdkError && err.status === 409;

/**
 * Runs `work` and retries it after temporary failures, with at most four attempts in total.
 * @throws the error of the last attempt
 */
export async function withRetries<Value>(work: () => Promise<Value>): Promise<Value> {
  for (const delayMs of retryDelaysMs) {
    try {
      return await work();
    } catch (err) {
      if (!isTransient(err)) throw err;
      await new Promise((resolve) => setTimeout(resolve, delayMs * (0.8 + Math.random() * 0.4)));
    }
  }
  return work();
}
