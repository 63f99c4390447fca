import type { Executor } from '../../platform/db/pool.ts';

/** Outcomes of all sessions in a range of UTC days, with a reason for every gap between the counts. */
export type Reconciliation = {
  sessions: number;
  filled_sessions: number;
  empty_sessions: number;
  /** Number of empty sessions by the reason why they had no offers. Adds up to the total number of empty sessions. */
  empty_reasons: Record<string, number>;
  /** Number of dev sessions. No other count includes them. */
  dev_sessions: number;
  offers_served: number;
  /** Number of counted events by kind. */
  events: Record<string, number>;
  /** Number of excluded events by kind and reason. */
  suspicious: Record<string, Record<string, number>>;
  offers_not_seen: number;
  impressions_not_clicked: number;
  /** Whether the counts are plausible: offers served ≥ impressions ≥ clicks. */
  balanced: boolean;
};

/** Looks up each day separately in the index, because the rows for one day are stored together for all publishers. */
const reconcileSql = `
select kind, reason, sum_exact(count)::float8 as count
from unnest(array(select generate_series($2::date, $3::date, interval '1 day')::date)) as requested_day
join reconciliation on day = requested_day
where publisher_id = $1 group by 1, 2`;

type Sum = { kind: string; reason: string; count: number };

const total = (sums: readonly Sum[]): number => sums.reduce((sum, { count }) => sum + count, 0);
const isSession = ({ kind }: Sum): boolean => kind === 'filled' || kind === 'empty';
const isDev = ({ reason }: Sum): boolean => reason === 'dev';

/**
 * Adds up the sessions on these UTC days and all of their events, even events that occurred later. For example, an
 * impression after midnight is counted on the day of its session, so that it does not cause a gap.
 */
export async function reconcile(
  executor: Executor,
  publisherId: number,
  from: string,
  to: string,
): Promise<Reconciliation> {
  const { rows } = await executor.query<Sum>({
    name: 'reconcile',
    text: reconcileSql,
    values: [publisherId, from, to],
  });
  const sessions = rows.filter((sum) => isSession(sum) && !isDev(sum));
  const empty = sessions.filter(({ kind }) => kind === 'empty');
  const others = rows.filter((sum) => !isSession(sum) && !isDev(sum));
  const { served = 0, ...events } = Object.fromEntries(
    others.flatMap(({ kind, reason, count }) => (reason === '' ? [[kind, count]] : [])),
  );
  const suspicious: Reconciliation['suspicious'] = {};
  for (const { kind, reason, count } of others)
    if (reason !== '') suspicious[kind] = { ...suspicious[kind], [reason]: count };
  const { impression = 0, click = 0 } = events;
  return {
    sessions: total(sessions),
    filled_sessions: total(sessions) - total(empty),
    empty_sessions: total(empty),
    empty_reasons: Object.fromEntries(empty.map(({ reason, count }) => [reason, count])),
    dev_sessions: total(rows.filter((sum) => isSession(sum) && isDev(sum))),
    offers_served: served,
    events,
    suspicious,
    offers_not_seen: served - impression,
    impressions_not_clicked: impression - click,
    balanced: served >= impression && impression >= click,
  };
}
