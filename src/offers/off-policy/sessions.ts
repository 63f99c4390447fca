import type { Stretch } from '../../learning/versions.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayOf } from '../../platform/lib/time.ts';
import { firstUuid7At } from '../../platform/lib/uuid7.ts';

/** A session with the revenue of its offers (millionths), and the number of sessions it represents. */
export type SampledSession = { id: string; weight: number; revenueByOffer: ReadonlyMap<number, number> };

/** Empty reasons of sessions without information: nothing was decided, it was withheld, or it came too late. */
const undecided = ['deadline', 'held_out', 'unit_off', 'percentage', 'no_campaigns'];

/**
 * Samples sessions of a publisher in a stretch, the same number with and without revenue, because the former are few
 * and have most information.
 * @param count maximum number of each kind
 */
export async function sampleDecided(
  executor: Executor,
  publisherId: number,
  { fromMs, toMs }: Stretch,
  count: number,
): Promise<SampledSession[]> {
  const { rows } = await executor.query<{ id: string; weight: number; revenue: Record<string, number> | null }>({
    name: 'sample_decided_sessions',
    text: `with money as (
        select session_id, offer_id, sum(revenue_micros)::float8 as micros from (
          select session_id, offer_id, revenue_micros from events
          where day between $2::date and $3::date and session_id >= $4::uuid and session_id < $5::uuid
            and publisher_id = $1 and revenue_micros is not null and suspicious is null
          union all
          select session_id, offer_id, revenue_micros from bookings
          where day between $2::date and $3::date and session_id >= $4::uuid and session_id < $5::uuid
            and publisher_id = $1
        ) as booked group by 1, 2
      ), earned as (
        select session_id, jsonb_object_agg(offer_id, micros) as revenue from money where micros <> 0 group by 1
      ), ranked as (
        select id, revenue, count(*) over kind as of_kind, row_number() over (kind order by md5(id::text)) as place
        from sessions left join earned on session_id = id
        where day between $2::date and $3::date and id >= $4::uuid and id < $5::uuid and publisher_id = $1
          and decision is not null and not dev and coalesce(empty_reason, '') <> all ($7::text[])
        window kind as (partition by revenue is null)
      )
      select id, revenue, of_kind / least(of_kind, $6)::float8 as weight from ranked where place <= $6`,
    values: [...[publisherId, dayOf(fromMs), dayOf(toMs), firstUuid7At(fromMs), firstUuid7At(toMs), count], undecided],
  });
  return rows.map(({ id, weight, revenue }) => ({
    id,
    weight,
    revenueByOffer: new Map(Object.entries(revenue ?? {}).map(([offerId, micros]) => [Number(offerId), micros])),
  }));
}
