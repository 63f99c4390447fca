import { sampleShare } from '../../platform/db/partitions.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { usersNeeded } from '../statistics/checks.ts';
import { linearised, type Moments, ratioOf } from '../statistics/moments.ts';
import { paidSql } from '../sums/statements.ts';

/**
 * Probability that at least one confidence interval in a report misses the true value, across all interim analyses and
 * arms.
 */
export const alpha = 0.05;

/** Required size and duration of an experiment, estimated from recent traffic. */
export type ExperimentPlan = {
  /** Relative difference in revenue to detect; 0.05 is 5%. */
  lift: number;
  /** Users per day at the experiment's placements, including users outside the experiment. */
  users_per_day: number;
  /** Required number of users in all arms together, or null if there is no revenue to base the estimate on. */
  users_needed: number | null;
  /** Number of days until `users_needed` is reached at the recent level of traffic, or null if there is no traffic. */
  days: number | null;
};

type PlanQuery = {
  publisherId: number;
  /** Prefix of user keys (`pepperMark`). User keys under earlier peppers no longer occur. */
  userKeyMark: string;
  /** Normalised placement names, or null for all placements. */
  placements: readonly string[] | null;
  /** Traffic shares of all arms, control first. Users outside the experiment are not included. */
  shares: readonly number[];
  lift: number;
  nowMs: number;
};

/** Number of days of traffic to read. `enoughSessions` is the number of sessions that is sufficient for an estimate. */
const windowDays = 7;
const enoughSessions = 5_000;

/** Maximum sample size, as a multiple of the default size (`sampleShare`). This is about 160,000 sessions. */
const mostSamples = 16;

/** Fraction of table pages to read first. It is quadrupled until enough sessions are found. */
const smallestPart = 1 / 4096;

/** Estimates the required size of an experiment from a sample of the last week's users. */
export async function planOf(executor: Executor, query: PlanQuery): Promise<ExperimentPlan> {
  const { shares, lift } = query;
  const { moments, usersPerDay } = await sampleUsers(executor, query);
  const all = shares.reduce((sum, share) => sum + share, 0);
  const needed = usersOfAllArms({ mean: ratioOf(moments), variance: linearised(moments).z, lift, shares });
  const perDay = Math.round(usersPerDay);
  const days = needed === null || usersPerDay === 0 ? null : Math.ceil(needed / (usersPerDay * all));
  return { lift, users_per_day: perDay, users_needed: needed, days };
}

type Design = { mean: number; variance: number; lift: number; shares: readonly number[] };

/**
 * Returns the total number of users in all arms that is required to detect the lift in each arm.
 * @param shares traffic shares, control first
 * @returns null if the lift can never be detected
 */
export function usersOfAllArms({ mean, variance, lift, shares }: Design): number | null {
  const [control = 0, ...others] = shares.filter((share) => share > 0);
  if (others.length === 0 || mean <= 0) return null;
  // The smallest arm takes longest to reach its required number of users.
  const arm = Math.min(...others);
  const users = usersNeeded({
    mean,
    variance,
    lift,
    shares: [control, arm] as const,
    alpha: alpha / others.length,
  });
  const all = others.reduce((sum, share) => sum + share, control);
  return Number.isFinite(users) ? Math.ceil((users * all) / (control + arm)) : null;
}

type Sample = { moments: Moments; usersPerDay: number };

/**
 * Samples users in two steps. First, random table pages are read to find the fraction of all sessions that contains
 * enough of the publisher's sessions. Then the same fraction of all users is read. The number of rows is limited, so a
 * small publisher among large ones gets a smaller sample.
 */
async function sampleUsers(executor: Executor, query: PlanQuery): Promise<Sample> {
  const most = Math.min(1, mostSamples * (await sampleShare(executor, 'sessions', query.nowMs - windowDays * dayMs)));
  let part = Math.min(most, smallestPart);
  let sessions = await readSample(executor, query, pages(part));
  while (part < most && sessions.x < enoughSessions) {
    part = Math.min(most, part * 4);
    sessions = await readSample(executor, query, pages(part));
  }
  // If no session has a known user, count each session as a user.
  return sampleOf(sessions.identified === 0 ? sessions : await readSample(executor, query, users(part, query)), part);
}

/** SQL fragments that select the sessions to read. The parameters `$1` to `$3` are already in use. */
type Source = { from: string; where: string; values: readonly unknown[] };

const pages = (part: number): Source => ({
  from: 'sessions tablesample system ($4) repeatable (0)',
  where: 'true',
  values: [100 * part],
});

/**
 * Selects a fraction of users by key range. User keys are random after their prefix, so those with the lowest keys are
 * a random sample.
 */
const users = (part: number, { userKeyMark: mark }: PlanQuery): Source => {
  const last = Math.floor(part * 16 ** 12) - 1;
  return {
    from: 'sessions',
    where: 'user_key between $4::uuid and $5::uuid',
    values: [mark.padEnd(32, '0'), `${mark}${last.toString(16).padStart(12, '0')}`.padEnd(32, 'f')],
  };
};

/** Converts a sample row. `part` is the sampled fraction of all users, from 0 to 1. */
const sampleOf = ({ days, ...sums }: SampleRow, part: number): Sample => ({
  moments: { ...sums, b: 0, bb: 0, xb: 0, yb: 0 },
  usersPerDay: sums.n / part / Math.max(1, days),
});

type SampleRow = Pick<Moments, 'n' | 'x' | 'y' | 'xx' | 'yy' | 'xy'> & {
  days: number;
  /** Number of sessions with a known user. */
  identified: number;
};

async function readSample(executor: Executor, query: PlanQuery, { from, where, values }: Source): Promise<SampleRow> {
  const { publisherId, placements, nowMs } = query;
  const { rows } = await executor.query<SampleRow>(
    `with sample as materialized (
      select day, id, created_at, user_key, coalesce(user_key, id) as unit from ${from}
      where day >= ($1::timestamptz - interval '${windowDays} days')::date and publisher_id = $2 and not dev
        and ($3::text[] is null or placement = any($3)) and ${where}
    ), units as (
      select s.unit, count(*)::float8 as x, coalesce(sum(paid.micros), 0)::float8 / 1e6 as y, min(created_at) as since
      from sample s left join lateral (
        select sum(${paidSql}) as micros from (
          select t.revenue_micros, t.currency, t.campaign_id, t.publisher_id, t.at from events t
          where t.day = s.day and t.session_id = s.id and t.suspicious is null and t.revenue_micros is not null
          union all
          select t.revenue_micros, t.currency, t.campaign_id, t.publisher_id, t.at from bookings t
          where t.day = s.day and t.session_id = s.id
        ) t cross join (select main_currency($2) as currency) m
      ) paid on true group by s.unit
    )
    select count(*)::float8 as n, coalesce(sum(x), 0) as x, coalesce(sum(y), 0) as y, coalesce(sum(x * x), 0) as xx,
      coalesce(sum(y * y), 0) as yy, coalesce(sum(x * y), 0) as xy,
      coalesce(extract(epoch from $1 - min(since)) * 1000 / ${dayMs}, 0)::float8 as days,
      (select count(user_key)::int from sample) as identified
    from units`,
    [new Date(nowMs), publisherId, placements, ...values],
  );
  return rows[0] as SampleRow;
}
