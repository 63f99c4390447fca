import type { Executor } from '../db/pool.ts';

/** What became of the sessions of some UTC days, counted from the raw rows: every gap has a name. */
export type Reconciliation = {
  sessions: number;
  filled_sessions: number;
  empty_sessions: number;
  /** Why nothing was shown, by reason; they add up to the empty sessions. */
  empty_reasons: Record<string, number>;
  /** Developers' sessions, which are counted nowhere else. */
  dev_sessions: number;
  offers_served: number;
  /** Events that count, by kind. */
  events: Record<string, number>;
  /** Events that are left out, by kind and reason. */
  suspicious: Record<string, Record<string, number>>;
  offers_not_seen: number;
  impressions_not_clicked: number;
  /** Sessions = filled + empty; empty = the sum of its reasons; offers served ≥ impressions ≥ clicks. */
  balanced: boolean;
};

const reconcileSql = `
with of_sessions as (
  select dev, cardinality(offer_ids) > 0 as filled, coalesce(empty_reason, 'unknown') as reason, count(*) as sessions, sum(cardinality(offer_ids)) as served
  from sessions where publisher_id = $1 and day between $2::date and $3::date group by 1, 2, 3
),
of_events as (
  select kind, suspicious, count(*) as events from events where publisher_id = $1 and day between $2::date and $3::date group by 1, 2
),
reasons as (select reason, sum(sessions)::int as count from of_sessions where not dev and not filled group by 1),
counted as (select kind, events::int as count from of_events where suspicious is null),
left_out as (
  select kind, jsonb_object_agg(suspicious, events::int) as reasons from of_events where suspicious is not null group by kind
)
select coalesce(sum(sessions) filter (where not dev), 0)::int as sessions,
  coalesce(sum(sessions) filter (where not dev and filled), 0)::int as filled_sessions,
  coalesce(sum(sessions) filter (where not dev and not filled), 0)::int as empty_sessions,
  coalesce(sum(sessions) filter (where dev), 0)::int as dev_sessions,
  coalesce(sum(served) filter (where not dev), 0)::int as offers_served,
  coalesce((select jsonb_object_agg(reason, count) from reasons), '{}') as empty_reasons,
  coalesce((select jsonb_object_agg(kind, count) from counted), '{}') as events,
  coalesce((select jsonb_object_agg(kind, reasons) from left_out), '{}') as suspicious
from of_sessions`;

/**
 * Adds up the sessions of these UTC days and the events that belong to them, whenever those happened, in one statement.
 * Events follow their session here, so that an impression after midnight leaves no gap.
 */
export async function reconcile(executor: Executor, publisherId: number, from: string, to: string): Promise<Reconciliation> {
  const { rows } = await executor.query<Omit<Reconciliation, 'offers_not_seen' | 'impressions_not_clicked' | 'balanced'>>({
    name: 'reconcile',
    text: reconcileSql,
    values: [publisherId, from, to],
  });
  const [sums] = rows;
  if (sums === undefined) throw new Error('a sum has one row');
  const { impression = 0, click = 0 } = sums.events;
  const reasons = Object.values(sums.empty_reasons).reduce((total, count) => total + count, 0);
  return {
    ...sums,
    offers_not_seen: sums.offers_served - impression,
    impressions_not_clicked: impression - click,
    balanced:
      sums.sessions === sums.filled_sessions + sums.empty_sessions &&
      sums.empty_sessions === reasons &&
      sums.offers_served >= impression &&
      impression >= click,
  };
}
