import type { Executor } from './pool.ts';

/** Rate limit per publisher that all processes share. The bucket starts full, and its tokens are in `table`. */
export type TokenBucket = {
  table: 'endpoint_test_buckets' | 'landing_check_buckets';
  burst: number;
  perMinute: number;
};

/** Time until an empty bucket has a token again, in seconds. */
export const retryAfterSOf = ({ perMinute }: TokenBucket): number => Math.ceil(60 / perMinute);

/** Consumes a token of a publisher's bucket. Returns false if the bucket is empty. */
export async function takeToken(
  executor: Executor,
  { table, burst, perMinute }: TokenBucket,
  publisherId: number,
  nowMs: number,
): Promise<boolean> {
  const filled = `least(${burst}, t.tokens + greatest(0, extract(epoch from excluded.at - t.at)) * ${perMinute} / 60)`;
  const { rowCount } = await executor.query(
    `insert into ${table} as t (publisher_id, tokens, at) values ($1, ${burst - 1}, $2)
    on conflict (publisher_id) do update set tokens = ${filled} - 1, at = greatest(t.at, excluded.at)
      where ${filled} >= 1`,
    [publisherId, new Date(nowMs)],
  );
  return rowCount !== 0;
}
