import type { Executor } from '../../platform/db/pool.ts';
import { addMoments, type Moments, momentNames, noMoments } from '../statistics/moments.ts';

/** Whose numbers: of everybody, or of those who saw an offer, or would have. */
export type Population = 'all' | 'would_have_seen';

/** What is measured by session, and of whose units, in the unit of the report. */
export const sessionMetrics = ['revenue', 'perks', 'clicks', 'conversions'] as const;

export type ArmSums = {
  /** Empty: outside. */
  arm: string;
  users: number;
  usersWhoWouldSee: number;
  sessions: number;
  sessionsThatWouldShow: number;
  metrics: Record<(typeof sessionMetrics)[number], Moments>;
  /** By name. */
  outcomes: Map<string, Moments>;
};

type Asked = { experimentId: number; version: number; population: Population };

/**
 * Users above this quantile of those who have any count as if they were on it: one order of a reseller would otherwise
 * outweigh thousands (winsorising).
 */
const cappedAt = 0.999;

const momentsSql = momentNames.map((name) => {
  if (name === 'n') return 'count(*)::float8 as n';
  const product = name.length === 1 ? `${name}::float8` : `${name[0]}::float8 * ${name[1]}::float8`;
  return `coalesce(sum(${product}), 0) as ${name}`;
});

type Row = Record<(typeof momentNames)[number], number> & { arm: string; name: string; sees: boolean };

/** The sums of all arms of a version. */
export async function readSums(executor: Executor, asked: Asked): Promise<ArmSums[]> {
  const arms = new Map<string, ArmSums>();
  const armOf = (arm: string): ArmSums => {
    const found = arms.get(arm) ?? emptyArm(arm);
    arms.set(arm, found);
    return found;
  };
  const isAsked = (sees: boolean): boolean => asked.population === 'all' || sees;
  for (const { arm, name, sees, ...moments } of await readMetrics(executor, asked)) {
    const sums = armOf(arm);
    const metric = name as (typeof sessionMetrics)[number];
    if (isAsked(sees)) sums.metrics[metric] = addMoments(sums.metrics[metric], moments);
    if (metric !== 'clicks') continue;
    sums.users += moments.n;
    sums.sessions += moments.x;
    if (sees) sums.usersWhoWouldSee += moments.n;
  }
  for (const { arm, sessions } of await readShown(executor, asked)) armOf(arm).sessionsThatWouldShow = sessions;
  for (const { arm, name, sees, ...moments } of await readOutcomes(executor, asked)) {
    const { outcomes } = armOf(arm);
    if (isAsked(sees)) outcomes.set(name, addMoments(outcomes.get(name) ?? noMoments, moments));
  }
  return [...arms.values()];
}

const emptyArm = (arm: string): ArmSums => ({
  ...{ arm, users: 0, usersWhoWouldSee: 0, sessions: 0, sessionsThatWouldShow: 0, outcomes: new Map() },
  metrics: { revenue: noMoments, perks: noMoments, clicks: noMoments, conversions: noMoments },
});

/** Columns of the statement below: what each metric is made of, and its value before the experiment. */
const columnsOf: Record<(typeof sessionMetrics)[number], { y: string; b: string }> = {
  revenue: { y: 'revenue', b: 'before_revenue' },
  perks: { y: 'perks', b: 'before_clicks' },
  clicks: { y: 'clicks', b: 'before_clicks' },
  conversions: { y: 'conversions', b: 'before_clicks' },
};

/** The sums of one metric as a JSON list, in the order of their names. PostgreSQL adds equal ones up once. */
const metricSql = (metric: (typeof sessionMetrics)[number]): string => {
  const column = { x: 'x', ...columnsOf[metric] };
  const sums = momentNames.map((name) => {
    const factors = [...name].map((factor) => column[factor as keyof typeof column]);
    return name === 'n' ? 'count(*)' : `sum(${factors.join(' * ')})`;
  });
  return `json_build_array(${sums.join(', ')}) as ${metric}`;
};

/** One pass over the users, in floating point: there may be millions. */
async function readMetrics(executor: Executor, { experimentId, version }: Asked): Promise<Row[]> {
  const { rows } = await executor.query<{ arm: string; sees: boolean } & Record<string, number[]>>(
    `with cap as (
      select percentile_disc(${cappedAt}) within group (order by revenue_micros) as micros from experiment_units
      where experiment_id = $1 and version = $2 and revenue_micros > 0
    )
    select arm, sees, ${sessionMetrics.map(metricSql).join(', ')} from (
      select arm, would_see > 0 as sees, sessions::float8 as x,
        least(revenue_micros, coalesce(cap.micros, 0))::float8 / 1e6::float8 as revenue,
        perks::float8 as perks, clicks::float8 as clicks, conversions::float8 as conversions,
        before_clicks::float8 as before_clicks, before_revenue_micros::float8 / 1e6::float8 as before_revenue
      from experiment_units cross join cap where experiment_id = $1 and version = $2
    ) as given group by 1, 2`,
    [experimentId, version],
  );
  return rows.flatMap(({ arm, sees, ...lists }) =>
    sessionMetrics.map((name) => ({ arm, sees, name, ...toMoments(lists[name] ?? []) })),
  );
}

const toMoments = (list: readonly number[]): Moments =>
  Object.fromEntries(momentNames.map((name, at) => [name, list[at] ?? 0])) as Moments;

async function readShown(executor: Executor, { experimentId, version }: Asked) {
  const { rows } = await executor.query<{ arm: string; sessions: number }>(
    `select arm, sum(would_see)::float8 as sessions from experiment_units
    where experiment_id = $1 and version = $2 group by 1`,
    [experimentId, version],
  );
  return rows;
}

/** By user: those without any count with 0. */
async function readOutcomes(executor: Executor, { experimentId, version }: Asked): Promise<Row[]> {
  const { rows } = await executor.query<Row>(
    `with names as (
      select name, percentile_disc(${cappedAt}) within group (order by value_micros) as cap
      from experiment_outcomes where experiment_id = $1 and version = $2 group by 1 limit 20
    )
    select arm, name, sees, ${momentsSql.join(', ')} from (
      select u.arm, n.name, u.would_see > 0 as sees, 1 as x, 0 as b,
        least(coalesce(o.value_micros, 0), n.cap) / 1e6 as y
      from experiment_units u cross join names n left join experiment_outcomes o on o.experiment_id = u.experiment_id
        and o.version = u.version and o.arm = u.arm and o.unit_key = u.unit_key and o.name = n.name
      where u.experiment_id = $1 and u.version = $2
    ) as given group by 1, 2, 3`,
    [experimentId, version],
  );
  return rows;
}
