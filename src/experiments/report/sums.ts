import { isOwnKind } from '../../catalog/event-kinds.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { addMoments, type Moments, momentNames, noMoments } from '../statistics/moments.ts';

/** Users to include: all users, or only those who saw an offer or would have seen one. */
export type Population = 'all' | 'would_have_seen';

/** Metrics that are measured per session. */
export const sessionMetrics = ['revenue', 'perks', 'clicks', 'conversions'] as const;
type SessionMetric = (typeof sessionMetrics)[number];

export type ArmSums = {
  /** Arm key, or empty for users outside the experiment. */
  arm: string;
  users: number;
  usersWhoWouldSee: number;
  sessions: number;
  sessionsThatWouldShow: number;
  metrics: Record<SessionMetric, Moments>;
  /** Sums of the publisher's own outcomes, keyed by name. */
  outcomes: Map<string, Moments>;
};

/** User properties by which results can be broken down. Each is taken from the user's first session. */
export const segments = ['device', 'country'] as const;
export type Segment = (typeof segments)[number];

type SumsQuery = { experimentId: number; version: number; segment: Segment | null };

/**
 * Sums over the users of an arm. If `sees` is true, they cover the users who saw an offer or would have seen one. If it
 * is false, they cover all other users.
 */
export type SumsRow = {
  arm: string;
  sees: boolean;
  /** Segment value. Empty for all users, or if the value is unknown. */
  value: string;
  /**
   * Name of the metric or own outcome. `shown` is the number of sessions with an offer, and `paying` the number of
   * users with revenue.
   */
  name: string;
  isOwn: boolean;
  moments: Moments;
};

/**
 * Quantile, among users with revenue, at which revenue per user is capped (winsorising). Without this cap, a single
 * order by a reseller could outweigh thousands of other users.
 */
const cappedAt = 0.999;

/** Returns how many of `count` users are at or above the quantile. The revenue of these users is read individually. */
const cappedCount = (count: number): number => (count === 0 ? 0 : count - Math.ceil(cappedAt * count) + 1);

/** Maximum number of the publisher's own outcomes in a report, and separately of own events. */
const maxOutcomes = 20;

/** Reads the totals of an experiment version, converted to report units: currency units instead of micros. */
export async function readRows(executor: Executor, query: SumsQuery): Promise<SumsRow[]> {
  const { experimentId, version, segment } = query;
  const { rows } = await executor.query<Omit<SumsRow, 'moments'> & Moments>({
    name: 'experiment_moments',
    text: `select arm, sees, segment_value as value, name, is_own as "isOwn",
      ${momentNames.map((name) => `sum(${name})::float8 as ${name}`).join(', ')}
    from experiment_moments where experiment_id = $1 and version = $2 and segment = $3 group by 1, 2, 3, 4, 5
    order by 1, 2, 3, 4`,
    values: [experimentId, version, segment ?? ''],
  });
  const outcomeNames = [...new Set(rows.filter(({ isOwn, n }) => isOwn && n > 0).map(({ name }) => name))].sort();
  const own = [false, true].flatMap((isEvent) =>
    outcomeNames.filter((name) => isOwnKind(name) === isEvent).slice(0, maxOutcomes),
  );
  const retainedRows = rows.filter(({ name, isOwn }) => !isOwn || own.includes(name));
  const countOf = (is: (row: (typeof rows)[number]) => boolean, of: 'n' | 'y'): number =>
    rows.filter(is).reduce((sum, row) => sum + row[of], 0);
  const paying = countOf(({ name, isOwn }) => !isOwn && name === 'paying', 'y');
  const excess = [
    ...(await revenueExcess(executor, query, cappedCount(paying))),
    ...(await outcomeExcess(
      executor,
      query,
      own.map((name) => ({ name, count: cappedCount(countOf((row) => row.isOwn && row.name === name, 'n')) })),
    )),
  ];
  return retainedRows.map(({ arm, sees, value, name, isOwn, ...moments }) => {
    const over = excess.find(
      (row) => row.name === name && row.isOwn === isOwn && row.arm === arm && row.sees === sees && row.value === value,
    );
    const { y = 0, yy = 0, xy = 0, yb = 0 } = over ?? {};
    const { n, x, b, xx, bb, xb } = moments;
    const all = {
      n,
      x,
      b,
      xx,
      bb,
      xb,
      y: moments.y - y,
      yy: moments.yy - yy,
      xy: moments.xy - xy,
      yb: moments.yb - yb,
    };
    return { arm, sees, value, name, isOwn, moments: inUnits(all, name === 'revenue' || isOwn) };
  });
}

/** Converts sums to report units. `isMicros` indicates whether `y` and `b` are in micros. */
function inUnits(moments: Moments, isMicros: boolean): Moments {
  if (!isMicros) return moments;
  const { y, b, yy, bb, xy, xb, yb } = moments;
  return {
    ...moments,
    y: y / 1e6,
    b: b / 1e6,
    yy: yy / 1e12,
    bb: bb / 1e12,
    xy: xy / 1e6,
    xb: xb / 1e6,
    yb: yb / 1e12,
  };
}

type Excess = { arm: string; sees: boolean; value: string; name: string; isOwn: boolean } & Record<
  'y' | 'yy' | 'xy' | 'yb',
  number
>;

/** Revenue of an arm in one currency, in currency units. */
type ArmMoney = { arm: string; currency: string; revenue: number; not_converted: number };

/** Revenue of an experiment version, by arm and currency. */
export type VersionMoney = {
  /** Currency of the per-user revenue totals. `XXX` if unknown, or null if there is no revenue. */
  currency: string | null;
  arms: ArmMoney[];
};

/** Reads the currency of a version's revenue, and the amounts booked in each currency. */
export async function readMoney(
  executor: Executor,
  { experimentId, version }: { experimentId: number; version: number },
): Promise<VersionMoney> {
  const summed = await executor.query<{ currency: string }>(
    'select currency from experiment_currencies where experiment_id = $1 and version = $2',
    [experimentId, version],
  );
  const booked = await executor.query<ArmMoney>(
    `select arm, currency, revenue_micros::float8 / 1e6 as revenue, unconverted_micros::float8 / 1e6 as not_converted
    from experiment_money where experiment_id = $1 and version = $2 order by arm, currency`,
    [experimentId, version],
  );
  return { currency: summed.rows[0]?.currency ?? null, arms: booked.rows };
}

/**
 * Reads the amount by which the revenue of the top users exceeds the cap.
 * @param count number of users at or above the quantile
 */
async function revenueExcess(executor: Executor, query: SumsQuery, count: number): Promise<Excess[]> {
  const { experimentId, version, segment } = query;
  if (count <= 1) return [];
  const { rows } = await executor.query<Excess>({
    name: `experiment_revenue_excess ${segment}`,
    text: `with top as materialized (
      select arm, would_see > 0 as sees, ${segment ?? "''"} as value, sessions::float8 as x,
        revenue_micros::float8 as y, before_revenue_micros::float8 as b
      from experiment_units where experiment_id = $1 and version = $2 and revenue_micros > 0
      order by revenue_micros desc limit $3
    ), cap as (select min(y) as at from top)
    select arm, sees, value, 'revenue' as name, false as "isOwn", sum(y - at) as y, sum(y * y - at * at) as yy,
      sum(x * (y - at)) as xy, sum(b * (y - at)) as yb
    from top cross join cap group by 1, 2, 3`,
    values: [experimentId, version, count],
  });
  return rows;
}

async function outcomeExcess(
  executor: Executor,
  { experimentId, version }: SumsQuery,
  names: readonly { name: string; count: number }[],
): Promise<Excess[]> {
  if (names.every(({ count }) => count <= 1)) return [];
  const { rows } = await executor.query<Excess>({
    name: 'experiment_outcome_excess',
    text: `with top as materialized (
      select named.name, o.*, min(o.y) over (partition by named.name) as at
      from unnest($3::text[], $4::integer[]) as named (name, count) cross join lateral (
        select arm, sees, value_micros::float8 as y, before_micros::float8 as b from experiment_outcomes
        where experiment_id = $1 and version = $2 and name = named.name and occurrences > 0
        order by value_micros desc limit named.count
      ) o
    )
    select arm, sees, '' as value, name, true as "isOwn", sum(y - at) as y, sum(y * y - at * at) as yy,
      sum(y - at) as xy, sum(b * (y - at)) as yb
    from top group by 1, 2, 4`,
    values: [experimentId, version, names.map(({ name }) => name), names.map(({ count }) => count)],
  });
  return rows;
}

/** Returns the totals for each arm in one of the two populations. */
export function armSums(rows: readonly SumsRow[], population: Population): ArmSums[] {
  const arms = new Map<string, ArmSums>();
  for (const { arm, sees, name, isOwn, moments } of rows) {
    const sums = arms.get(arm) ?? emptyArm(arm);
    arms.set(arm, sums);
    const isAsked = population === 'all' || sees;
    if (isOwn) {
      if (isAsked) sums.outcomes.set(name, addMoments(sums.outcomes.get(name) ?? noMoments, moments));
    } else if (name === 'shown') {
      sums.users += moments.n;
      sums.sessions += moments.x;
      if (sees) sums.usersWhoWouldSee += moments.n;
      sums.sessionsThatWouldShow += moments.y;
    } else if (isAsked && isMetric(name)) sums.metrics[name] = addMoments(sums.metrics[name], moments);
  }
  const names = new Set([...arms.values()].flatMap(({ outcomes }) => [...outcomes.keys()]));
  for (const sums of arms.values()) {
    // Divide by all users of the arm. Users without an outcome count as 0.
    const n = sums.metrics.clicks.n;
    for (const name of names) sums.outcomes.set(name, { ...(sums.outcomes.get(name) ?? noMoments), n, x: n, xx: n });
  }
  return [...arms.values()];
}

const isMetric = (name: string): name is SessionMetric => (sessionMetrics as readonly string[]).includes(name);

const emptyArm = (arm: string): ArmSums => ({
  arm,
  users: 0,
  usersWhoWouldSee: 0,
  sessions: 0,
  sessionsThatWouldShow: 0,
  outcomes: new Map(),
  metrics: { revenue: noMoments, perks: noMoments, clicks: noMoments, conversions: noMoments },
});
