import { SdkError } from './errors.ts';

/** Delays between the attempts of a call with transient failures. */
const retryDelaysMs = [500, 2000, 6000];

/** Whether a later attempt may succeed: no response (status 0), too many requests, or a server error. */
export const isTransient = (err: unknown): boolean =>
  err instanceof SdkError && err.kind !== 'blocked' && (err.status === 0 || err.status === 429 || err.status >= 500);

/** Whether the session has ended. */
export const isConflict = (err: unknown): boolean => err instanceof SdkError && err.status === 409;

/**
 * Runs `work` and repeats it after transient failures, at most four times in total. @throws the error of the last
 * attempt
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
