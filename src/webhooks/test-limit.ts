import type { Executor } from '../platform/db/pool.ts';
import { retryAfterSOf, type TokenBucket, takeToken } from '../platform/db/token-bucket.ts';
import { AppError } from '../platform/errors.ts';

/** Rate limit for test calls per publisher. Calls through the API and the dashboard count together. */
const testCalls: TokenBucket = { table: 'endpoint_test_buckets', burst: 10, perMinute: 10 };

/**
 * Consumes a token from the rate limit for testing endpoints.
 * @throws AppError `too_many_requests`
 */
export async function takeTestToken(executor: Executor, publisherId: number, nowMs: number): Promise<void> {
  if (!(await takeToken(executor, testCalls, publisherId, nowMs)))
    throw new AppError('too_many_requests', { retryAfterS: retryAfterSOf(testCalls) });
}
