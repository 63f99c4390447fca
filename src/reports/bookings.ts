import type { Executor } from '../platform/db/pool.ts';
import { dimensionBits } from './rollup/grains.ts';

/**
 * SQL that counts conversions and their revenue, to be run in the statement or transaction that records them.
 * @param rows a select of (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros,
 * unbilled_micros, currency): the day of the session, 1 or for a void -1, and millionths; an id that was booked counts
 * once. Suspicious conversions must not be booked.
 */
export const bookSql = (rows: string): string => `
insert into bookings (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros,
  unbilled_micros, currency)
${rows}
order by 1, 2, 3
on conflict do nothing`;

/**
 * SQL that marks the revenue of bookings as unbilled, to be run in the transaction that records them.
 * @param list name of a list of (day, session_id, id) in the statement
 */
export const unbillSql = (list: string): string => `
update bookings b set revenue_micros = 0, unbilled_micros = revenue_micros
from ${list} given
where (b.day, b.session_id, b.id) = (given.day, given.session_id, given.id)`;

/** Booked revenue of a publisher's offers by currency since a time, rounded to the hour, in millionths. */
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
