import { controlOf, holdoutArm } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { createPacer } from '../../platform/lib/slices.ts';
import { dayOf } from '../../platform/lib/time.ts';
import { unknownCurrency } from '../../platform/money.ts';
import { problem } from '../../platform/problem.ts';
import type { ExperimentView } from '../configuration/view.ts';
import { differBefore, probabilitiesToBeBest, sampleRatio } from '../statistics/checks.ts';
import { compare, type Estimate } from '../statistics/compare.ts';
import { type Moments, noMoments, ratioOf } from '../statistics/moments.ts';
import { outside, readSegments, type SegmentsReport } from './by-segment.ts';
import { isAnswered, readPoints, revenueLifts } from './over-time.ts';
import { alpha } from './plan.ts';
import { progressOf } from './progress.ts';
import {
  type ArmSums,
  armSums,
  type Population,
  readMoney,
  readRows,
  type Segment,
  type SumsRow,
  sessionMetrics,
  type VersionMoney,
} from './sums.ts';

type MetricReport = {
  /** Metric value per 1,000 sessions. For the publisher's own outcomes, the value is per user. */
  value: number;
  /** Difference from the control, or null for the control itself or if there are too few users. */
  difference: Estimate | null;
  lift: Estimate | null;
  is_significant: boolean;
  probability_best: number;
};

type ArmReport = {
  arm: string;
  users: number;
  sessions: number;
  would_have_seen: { users: number; sessions: number };
  /**
   * Booked revenue by currency. `not_converted` is the part that is not included in the metrics, because there was no
   * exchange rate.
   */
  revenue_by_currency: { currency: string; revenue: number; not_converted: number }[];
  metrics: Record<string, MetricReport>;
  /** The publisher's own outcomes, keyed by name. Values are per user. */
  outcomes: Record<string, MetricReport>;
};

export type ExperimentReport = Validity & {
  key: string;
  state: string;
  version: number;
  from: string | null;
  control: string;
  population: Population;
  /**
   * Currency of the revenue. Null if there is no revenue, or if an earlier release added up amounts in several
   * currencies.
   */
  currency: string | null;
  /**
   * Whether the result is conclusive: the revenue differs significantly, or any difference is smaller than the lift
   * that the experiment is meant to detect.
   */
  is_enough: boolean;
  /** Total number of users in all arms that is required to detect the smallest lift, or null if unknown. */
  users_needed: number | null;
  /** Number of users in all arms so far. */
  users_counted: number;
  /** Share of the revenue variance that the users' history explains, from 0 to 1. */
  explained_by_history: number;
  smallest_lift: number;
  /**
   * Estimated days until a running experiment has enough data, based on its progress so far. 0 if it already has
   * enough, or null if unknown.
   */
  days_left: number | null;
  erased_users: number;
  arms: ArmReport[];
  /** Revenue lift of each arm, at the end of each day and at the time of the report. */
  over_time: { day: string; is_enough: boolean; arms: { arm: string; lift: Estimate | null }[] }[];
  /** First day since which there has been enough data every day, or null if there is currently not enough. */
  enough_since: string | null;
  /** Results by segment, or null if not requested. */
  segments: SegmentsReport | null;
};

export type ReportOptions = { version: number | null; population: Population | null; segment: Segment | null };

/**
 * Creates the report of an experiment version.
 * @throws AppError resource_not_found if the version does not exist
 */
export async function reportOf(
  { executor, nowMs }: { executor: Executor; nowMs: number },
  experiment: ExperimentView & { id: number; erased_users: number },
  options: ReportOptions,
): Promise<ExperimentReport> {
  const { id, key, state, versions } = experiment;
  const version = options.version ?? experiment.version;
  const stored = versions.find((candidate) => candidate.version === version);
  if (stored === undefined && (options.version !== null || versions.length > 0))
    throw new AppError('resource_not_found', { message: problem('noVersion', { version: String(version) }) });
  const { arms, holdout, at } = stored ?? { ...experiment, at: null };
  const population = options.population ?? (holdout > 0 ? 'would_have_seen' : 'all');
  const versionKey = { experimentId: id, version };
  const money = await readMoney(executor, versionKey);
  const points = (await readPoints(executor, versionKey)).map(({ day, rows }) => ({
    day,
    rows: comparable(rows, money),
  }));
  const live = comparable(await readRows(executor, { ...versionKey, segment: null }), money);
  // Per-user totals are deleted some time after an experiment ends. From then on, use the results recorded for its last
  // day.
  const isOver = points.length > 0 && !live.some(({ moments }) => moments.n > 0);
  const rows = isOver ? (points.at(-1)?.rows ?? []) : live;
  const sums = armSums(rows, population);
  const control = controlOf(arms) ?? '';
  const names = [
    control,
    ...(holdout > 0 ? [holdoutArm] : []),
    ...arms.map((arm) => arm.key).filter((name) => name !== control),
  ];
  const ordered = names.map((name) => sums.find(({ arm }) => arm === name) ?? null);
  const reports = await armReports(names, ordered, money);
  const planned = sharesOf(names, {
    arms,
    holdout,
    allocation: experiment.allocation,
    isCurrent: version === experiment.version,
  });
  const shares = names.map((name) => planned.get(name) ?? 0);
  const { smallest_lift: lift } = experiment;
  const alphaPerArm = alpha / Math.max(1, names.length - 1);
  const today = dayOf(nowMs);
  const days = isOver ? points : [...points.filter(({ day }) => day !== today), { day: today, rows }];
  const overTime = days.map((point) => {
    const lifts = revenueLifts(names, armSums(point.rows, population), alphaPerArm);
    return {
      day: point.day,
      is_enough: lifts.length > 0 && lifts.every((armLift) => isAnswered(armLift, lift)),
      arms: lifts.map(({ arm, lift: liftValue }) => ({ arm, lift: liftValue })),
    };
  });
  const isEnough = overTime.at(-1)?.is_enough === true;
  const { segment } = options;
  const startMs = Date.parse(experiment.started_at ?? experiment.start_at ?? at ?? '');
  const progress = progressOf(ordered, { shares, lift, sinceMs: Math.max(startMs, Date.parse(at ?? '')), nowMs });
  return {
    key,
    state,
    version,
    from: at,
    control: control || outside,
    population,
    currency: isMixed(money) ? null : money.currency,
    ...validityOf(armSums(rows, 'all'), { names, shares, population }),
    is_enough: isEnough,
    users_needed: progress.needed,
    users_counted: progress.users,
    explained_by_history: progress.explained,
    smallest_lift: lift,
    days_left: state !== 'running' ? null : isEnough ? 0 : progress.daysLeft,
    erased_users: experiment.erased_users,
    arms: reports,
    over_time: overTime,
    enough_since: isEnough ? (overTime[1 + overTime.findLastIndex((point) => !point.is_enough)]?.day ?? null) : null,
    segments:
      segment === null ? null : await readSegments(executor, { ...versionKey, segment, population, names, alpha }),
  };
}

/** Whether an earlier release added up revenue in different currencies without converting it. */
const isMixed = ({ currency }: VersionMoney): boolean => currency === unknownCurrency;

/** Drops the totals that can't be compared between arms. */
const comparable = (rows: readonly SumsRow[], money: VersionMoney): SumsRow[] =>
  rows.filter(({ name, isOwn }) => isOwn || !isMixed(money) || (name !== 'revenue' && name !== 'paying'));

type Design = {
  arms: { key: string; share: number }[];
  holdout: number;
  allocation: { from: number; to: number; arm: string }[];
  isCurrent: boolean;
};

/** Returns the traffic share of each arm. */
function sharesOf(names: readonly string[], { arms, holdout, allocation, isCurrent }: Design): Map<string, number> {
  const stated = new Map([[holdoutArm, holdout], ...arms.map(({ key, share }): [string, number] => [key, share])]);
  const shares = new Map(
    names.map((name): [string, number] => [
      name,
      isCurrent
        ? allocation.filter(({ arm }) => arm === name).reduce((sum, { from, to }) => sum + (to - from) / 10_000, 0)
        : (stated.get(name) ?? 0),
    ]),
  );
  if (names.includes('')) shares.set('', Math.max(0, 1 - [...shares.values()].reduce((sum, share) => sum + share, 0)));
  return shares;
}

/** Metric name and its values by arm. */
type Series = [name: string, MetricReport[]];

async function armReports(
  names: readonly string[],
  sums: readonly (ArmSums | null)[],
  money: VersionMoney,
): Promise<ArmReport[]> {
  const letOthersRun = createPacer();
  // Divide alpha by the number of comparisons with the control, so that the overall error probability is alpha
  // (Bonferroni).
  const alphaPerArm = alpha / Math.max(1, names.length - 1);
  const metric = async (pick: (arm: ArmSums) => Moments | undefined, factor: number): Promise<MetricReport[]> => {
    await letOthersRun();
    const moments = sums.map((arm) => (arm === null ? undefined : pick(arm)));
    const best = probabilitiesToBeBest(moments.map((armMoments) => armMoments ?? noMoments));
    return moments.map((own, at) => {
      const comparison = at === 0 ? null : compare(moments[0] ?? noMoments, own ?? noMoments, { alpha: alphaPerArm });
      return {
        value: ratioOf(own ?? noMoments) * factor,
        difference: comparison === null ? null : scaled(comparison.difference, factor),
        lift: comparison?.lift ?? null,
        is_significant: comparison?.isSignificant ?? false,
        probability_best: best[at] ?? 0,
      };
    });
  };
  const metrics: Series[] = [];
  for (const name of sessionMetrics.filter((metricName) => metricName !== 'revenue' || !isMixed(money)))
    metrics.push([`${name}_per_1000_sessions`, await metric((arm) => arm.metrics[name], 1000)]);
  const outcomeNames = [...new Set(sums.flatMap((arm) => [...(arm?.outcomes.keys() ?? [])]))].sort();
  const outcomes: Series[] = [];
  for (const name of outcomeNames) outcomes.push([name, await metric((arm) => arm.outcomes.get(name), 1)]);
  const at = (series: readonly Series[], index: number): Record<string, MetricReport> =>
    Object.fromEntries(series.map(([name, list]) => [name, list[index] as MetricReport]));
  return names.map((name, index) => ({
    arm: name || outside,
    users: sums[index]?.users ?? 0,
    sessions: sums[index]?.sessions ?? 0,
    would_have_seen: {
      users: sums[index]?.usersWhoWouldSee ?? 0,
      sessions: sums[index]?.sessionsThatWouldShow ?? 0,
    },
    revenue_by_currency: money.arms
      .filter(({ arm }) => arm === name)
      .map(({ currency, revenue, not_converted }) => ({ currency, revenue, not_converted })),
    metrics: at(metrics, index),
    outcomes: at(outcomes, index),
  }));
}

const scaled = ({ estimate, low, high }: Estimate, factor: number): Estimate => ({
  estimate: estimate * factor,
  low: low * factor,
  high: high * factor,
});

/** Checks that show whether the results of a report can be trusted. */
type Validity = {
  /** Whether users were lost or counted twice in some arms (sample ratio mismatch). */
  sample_ratio: { is_wrong: boolean; odds: number };
  /**
   * Whether an arm affects which users see an offer, in which case those users can't be compared between arms. Null if
   * the report compares all users.
   */
  seen_ratio: { is_wrong: boolean; odds: number } | null;
  /** Arms whose users already differed from the control's users before they joined the experiment. */
  before_exposure: { is_wrong: boolean; arms: string[] };
};

type ValidityQuery = {
  /** Arm names, control first. `shares` contains the traffic share of each arm. */
  names: readonly string[];
  shares: readonly number[];
  population: Population;
};

/**
 * Runs the validity checks.
 * @param sums sums of all users, whether or not they saw an offer, because the checks must not depend on what the arms
 * change
 */
function validityOf(sums: readonly ArmSums[], { names, shares, population }: ValidityQuery): Validity {
  const arms = names.map((name) => sums.find(({ arm }) => arm === name));
  const ratio = (of: (arm: ArmSums) => number): { is_wrong: boolean; odds: number } => {
    const counted = arms.map((arm, at) => ({ users: arm === undefined ? 0 : of(arm), share: shares[at] ?? 0 }));
    const { odds, isWrong } = sampleRatio(counted);
    return { is_wrong: isWrong, odds: Math.min(odds, 1e12) };
  };
  const measures = arms.map((arm) => [arm?.metrics.clicks ?? noMoments, arm?.metrics.revenue ?? noMoments]);
  const different = differBefore(measures).map((at) => names[at] || outside);
  return {
    sample_ratio: ratio(({ users }) => users),
    seen_ratio: population === 'all' ? null : ratio(({ usersWhoWouldSee }) => usersWhoWouldSee),
    before_exposure: { is_wrong: different.length > 0, arms: different },
  };
}
