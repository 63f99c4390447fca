import type { Executor } from '../platform/db/pool.ts';
import { dimensionBits } from './rollup/grains.ts';

/** Booked revenue of a publisher by offer since a time, to the hour (millionths of the currency of the campaign). */
export async function bookedByOffer(
  executor: Executor,
  { publisherId, sinceMs }: { publisherId: number; sinceMs: number },
): Promise<Map<number, number>> {
  const { rows } = await executor.query<{ offer_id: number; revenue: string }>(
    `select offer_id, sum_exact(revenue_micros) as revenue from rollups
    where publisher_id = $1 and grain = ${dimensionBits.offer} and bucket >= $2 group by offer_id`,
    [publisherId, new Date(sinceMs)],
  );
  return new Map(rows.map(({ offer_id: offerId, revenue }) => [offerId, Number(revenue)]));
}
