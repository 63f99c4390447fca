import { SdkError } from './errors.ts';

/** Delays between the attempts of a call that failed for a transient reason. */
const retryDelaysMs = [500, 2000, 6000];

/** Whether a later attempt may succeed: no response (status 0), too many requests, or a failure of the server. */
export const isTransient = (err: unknown): boolean =>
  err instanceof SdkError && err.kind !== 'blocked' && (err.status === 0 || err.status === 429 || err.status >= 500);

/** Whether the session is over. */
export const isConflict = (err: unknown): boolean => err instanceof SdkError && err.status === 409;

/** Runs `work`, and again after each transient failure, at most four times. @throws what the last attempt threw */
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
