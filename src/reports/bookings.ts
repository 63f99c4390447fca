import type { Executor } from '../platform/db/pool.ts';
import { dimensionBits } from './rollup/grains.ts';

/**
 * Builds SQL that books conversions and their revenue. It must run in the statement or transaction that records the
 * conversions. Suspicious conversions must not be booked.
 * @param rows query that returns (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions,
 * revenue_micros, unbilled_micros, currency). `day` is the day of the session; `conversions` is 1, or -1 for a void;
 * amounts are in millionths. Rows whose `id` is already booked are ignored.
 */
export const bookSql = (rows: string): string => `
insert into bookings (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros,
  unbilled_micros, currency)
${rows}
order by 1, 2, 3
on conflict do nothing`;

/**
 * Builds SQL that marks the revenue of bookings as unbilled. It must run in the transaction that records the bookings.
 * @param list name of a list of (day, session_id, id) in the statement
 */
export const unbillSql = (list: string): string => `
update bookings b set revenue_micros = 0, unbilled_micros = revenue_micros
from ${list} given
where (b.day, b.session_id, b.id) = (given.day, given.session_id, given.id)`;

/**
 * Returns the revenue booked for a publisher's offers since a given time, by currency. The time is rounded to the hour.
 * Amounts are in millionths.
 */
export async function bookedByCurrency(
  executor: Executor,
  { publisherId, sinceMs }: { publisherId: number; sinceMs: number },
): Promise<Map<string, number>> {
  const { rows } = await executor.query<{ currency: string; revenue: string }>(
    `select currency, sum_exact(revenue_micros) as revenue from rollup_money
    where publisher_id = $1 and grain = ${dimensionBits.offer} and bucket >= $2 group by currency`,
    [publisherId, new Date(sinceMs)],
  );
  return new Map(rows.map(({ currency, revenue }) => [currency, Number(revenue)]));
}

/** Activity of a campaign in an hour. `revenueMicros` contains only revenue in the requested currency. */
export type CampaignHour = { atMs: number; impressions: number; clicks: number; revenueMicros: number };

type HoursQuery = { campaignId: number; publisherIds: readonly number[]; currency: string; sinceMs: number };

/** Returns the activity of a campaign at some publishers by hour, oldest first. Hours without activity are left out. */
export async function readCampaignHours(executor: Executor, query: HoursQuery): Promise<CampaignHour[]> {
  const { campaignId, publisherIds, currency, sinceMs } = query;
  const { rows } = await executor.query<CampaignHour>(
    `with counts as (
      select bucket, sum(impressions) as impressions, sum(clicks) as clicks from rollups
      where publisher_id = any($1) and grain = ${dimensionBits.offer} and bucket >= $2 and campaign_id = $3
      group by bucket
    ), money as (
      select bucket, sum_exact(revenue_micros) as revenue from rollup_money
      where publisher_id = any($1) and grain = ${dimensionBits.offer} and bucket >= $2 and campaign_id = $3
        and currency = $4 group by bucket
    )
    select (extract(epoch from bucket) * 1000)::float8 as "atMs", coalesce(impressions, 0)::float8 as impressions,
      coalesce(clicks, 0)::float8 as clicks, coalesce(revenue, 0)::float8 as "revenueMicros"
    from counts full join money using (bucket) order by bucket`,
    [publisherIds, new Date(sinceMs), campaignId, currency],
  );
  return rows;
}
