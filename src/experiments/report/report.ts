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
  /** Value per 1,000 sessions; own outcomes per user. */
  value: number;
  /** Difference from the control; null for the control itself, or with too few users. */
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
  /** Booked revenue by currency; `not_converted`: the part that is missing in the metrics. */
  revenue_by_currency: { currency: string; revenue: number; not_converted: number }[];
  metrics: Record<string, MetricReport>;
  /** The publisher's own outcomes, per user. */
  outcomes: Record<string, MetricReport>;
};

export type ExperimentReport = Validity & {
  key: string;
  state: string;
  version: number;
  from: string | null;
  control: string;
  population: Population;
  /** Currency of the revenue; null without revenue, or if an earlier release added several currencies. */
  currency: string | null;
  /**
   * Whether the data answer the question: the difference in revenue is not 0, or it is smaller than the lift to detect.
   */
  is_enough: boolean;
  /** Users of all arms that are needed to detect the smallest lift, or null if unknown. */
  users_needed: number | null;
  /** Users counted so far. */
  users_counted: number;
  /** Part of the variance of revenue that the users' history explains, 0 to 1. */
  explained_by_history: number;
  smallest_lift: number;
  /** Days until then for a running experiment, at the pace so far; 0 with enough data; null if unknown. */
  days_left: number | null;
  erased_users: number;
  arms: ArmReport[];
  /** Lift in revenue at the end of each day, and now. */
  over_time: { day: string; is_enough: boolean; arms: { arm: string; lift: Estimate | null }[] }[];
  /** First day since which there has been enough data on every day, or null. */
  enough_since: string | null;
  /** Segments, if requested. */
  segments: SegmentsReport | null;
};

export type ReportOptions = { version: number | null; population: Population | null; segment: Segment | null };

/** @throws AppError resource_not_found if there is no such version */
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
  // Long after its end an experiment has no sums of users; the results are those of its last day.
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

/** Whether an earlier release added up revenue in several currencies. */
const isMixed = ({ currency }: VersionMoney): boolean => currency === unknownCurrency;

/** Sums without those that can't be compared. */
const comparable = (rows: readonly SumsRow[], money: VersionMoney): SumsRow[] =>
  rows.filter(({ name, isOwn }) => isOwn || !isMixed(money) || (name !== 'revenue' && name !== 'paying'));

type Design = {
  arms: { key: string; share: number }[];
  holdout: number;
  allocation: { from: number; to: number; arm: string }[];
  isCurrent: boolean;
};

/** Share of the traffic of each arm. */
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

/** A metric by arm. */
type Series = [name: string, MetricReport[]];

async function armReports(
  names: readonly string[],
  sums: readonly (ArmSums | null)[],
  money: VersionMoney,
): Promise<ArmReport[]> {
  const letOthersRun = createPacer();
  // Each arm is compared with the control; divide alpha, so that all together miss as often as one (Bonferroni).
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

/** Whether the results of a report can be trusted. */
type Validity = {
  /** Whether users were lost or counted twice in some arms. */
  sample_ratio: { is_wrong: boolean; odds: number };
  /**
   * Whether an arm changes who sees an offer, so that users who do can't be compared; null if all users are compared.
   */
  seen_ratio: { is_wrong: boolean; odds: number } | null;
  /** Arms whose users differed from the control's before they joined the experiment. */
  before_exposure: { is_wrong: boolean; arms: string[] };
};

type ValidityQuery = {
  /** Arms, the control first, and the share of each. */
  names: readonly string[];
  shares: readonly number[];
  population: Population;
};

/** @param sums of all users, whatever they saw, because a check must not depend on what arms change */
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
