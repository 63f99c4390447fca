import type { Executor } from '../../platform/db/pool.ts';

/** What became of the sessions of some UTC days: every gap has a name. */
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
  /** Offers served ≥ impressions ≥ clicks. */
  balanced: boolean;
};

/** The columns of a sum before its count. */
export const reconciliationKey = 'day, publisher_id, kind, reason';

/**
 * Reads `happened`, gives `sorted_out`: how often what happened, by the day of its session. Bookings are counted
 * elsewhere.
 */
export const sortedOutSql = `
sorted_out as (
  select day, publisher_id, kind, coalesce(reason, '') as reason, sum_exact(times) as count
  from happened where kind <> 'booking' group by 1, 2, 3, 4
)`;

/** Common table expressions that read `happened` and add it to the sums, or take it off them. */
export const reconciledSql = (sign: '' | '-'): string => `${sortedOutSql},
reconciled as (
  insert into reconciliation as kept (${reconciliationKey}, count) select ${reconciliationKey}, ${sign}count from sorted_out
  on conflict (${reconciliationKey}) do update set count = kept.count + excluded.count
)`;

/** Each day is looked up, because those of all publishers lie together. */
const reconcileSql = `
select kind, reason, sum_exact(count)::float8 as count
from unnest(array(select generate_series($2::date, $3::date, interval '1 day')::date)) as asked join reconciliation on day = asked
where publisher_id = $1 group by 1, 2`;

type Sum = { kind: string; reason: string; count: number };

const total = (sums: readonly Sum[]): number => sums.reduce((sum, { count }) => sum + count, 0);
const isSession = ({ kind }: Sum): boolean => kind === 'filled' || kind === 'empty';
const isDev = ({ reason }: Sum): boolean => reason === 'dev';

/**
 * Adds up the sessions of these UTC days and the events that belong to them, whenever those happened. Events follow
 * their session
 * here, so that an impression after midnight leaves no gap.
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
  const happened = rows.filter((sum) => !isSession(sum) && !isDev(sum));
  const { shown = 0, ...events } = Object.fromEntries(
    happened.flatMap(({ kind, reason, count }) => (reason === '' ? [[kind, count]] : [])),
  );
  const suspicious: Reconciliation['suspicious'] = {};
  for (const { kind, reason, count } of happened)
    if (reason !== '') suspicious[kind] = { ...suspicious[kind], [reason]: count };
  const { impression = 0, click = 0 } = events;
  return {
    sessions: total(sessions),
    filled_sessions: total(sessions) - total(empty),
    empty_sessions: total(empty),
    empty_reasons: Object.fromEntries(empty.map(({ reason, count }) => [reason, count])),
    dev_sessions: total(rows.filter((sum) => isSession(sum) && isDev(sum))),
    offers_served: shown,
    events,
    suspicious,
    offers_not_seen: shown - impression,
    impressions_not_clicked: impression - click,
    balanced: shown >= impression && impression >= click,
  };
}
