import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';

/**
 * Rate limit for test calls per publisher: a burst of ten, then ten per minute. Calls through the API and the
 * dashboard, in all processes, count together.
 */
const burst = 10;
const perS = 10 / 60;

const filled = `least(${burst}, t.tokens + greatest(0, extract(epoch from excluded.at - t.at)) * ${perS})`;

/**
 * Consumes a token from the rate limit for testing endpoints.
 * @throws AppError `too_many_requests`
 */
export async function takeTestToken(executor: Executor, publisherId: number, nowMs: number): Promise<void> {
  const { rowCount } = await executor.query(
    `insert into endpoint_test_buckets as t (publisher_id, tokens, at) values ($1, ${burst - 1}, $2)
    on conflict (publisher_id) do update set tokens = ${filled} - 1, at = greatest(t.at, excluded.at)
      where ${filled} >= 1`,
    [publisherId, new Date(nowMs)],
  );
  if (rowCount === 0) throw new AppError('too_many_requests', { retryAfterS: Math.ceil(1 / perS) });
}
