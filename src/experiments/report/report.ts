import { controlOf, holdoutArm } from '../../catalog/experiments.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { createPacer } from '../../platform/lib/slices.ts';
import { dayOf } from '../../platform/lib/time.ts';
import { unknownCurrency } from '../../platform/money.ts';
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
  /** By 1,000 sessions; an own outcome by user. */
  value: number;
  /** Against the control; null: this is it, or there are too few users. */
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
  /** Booked revenue by currency; `not_converted`: the part that the metrics leave out. */
  revenue_by_currency: { currency: string; revenue: number; not_converted: number }[];
  metrics: Record<string, MetricReport>;
  /** The publisher's own, by user. */
  outcomes: Record<string, MetricReport>;
};

export type ExperimentReport = Validity & {
  key: string;
  state: string;
  version: number;
  from: string | null;
  control: string;
  population: Population;
  /** Currency of the revenue; null: nothing was earned yet, or an earlier release added several currencies. */
  currency: string | null;
  /** The data answer the question: the difference in revenue is not 0, or smaller than what was looked for. */
  is_enough: boolean;
  /** Users of all arms that are needed to see the smallest lift that is looked for; null: unknown as yet. */
  users_needed: number | null;
  /** Of them, those who are there. */
  users_counted: number;
  /** How much of the variance of revenue is explained by what users did before, 0 to 1. */
  explained_by_history: number;
  smallest_lift: number;
  /** Until then, at the pace so far, of one that runs; 0: there is enough; null: unknown as yet. */
  days_left: number | null;
  erased_users: number;
  arms: ArmReport[];
  /** The lift in revenue as it stood at the end of each day, and now. */
  over_time: { day: string; is_enough: boolean; arms: { arm: string; lift: Estimate | null }[] }[];
  /** The day since which there is enough data, and was on each day that followed; null: there is not. */
  enough_since: string | null;
  /** Where it is asked for. */
  segments: SegmentsReport | null;
};

export type ReportOptions = { version: number | null; population: Population | null; segment: Segment | null };

/** @throws AppError resource_not_found: there is no such version */
export async function reportOf(
  { executor, nowMs }: { executor: Executor; nowMs: number },
  experiment: ExperimentView & { id: number; erased_users: number },
  options: ReportOptions,
): Promise<ExperimentReport> {
  const { id, key, state, versions } = experiment;
  const version = options.version ?? experiment.version;
  const stored = versions.find((one) => one.version === version);
  if (stored === undefined && (options.version !== null || versions.length > 0))
    throw new AppError('resource_not_found', { message: 'Version not found.' });
  const { arms, holdout, at } = stored ?? { ...experiment, at: null };
  const population = options.population ?? (holdout > 0 ? 'would_have_seen' : 'all');
  const asked = { experimentId: id, version };
  const money = await readMoney(executor, asked);
  const points = (await readPoints(executor, asked)).map(({ day, rows }) => ({ day, rows: comparable(rows, money) }));
  const live = comparable(await readRows(executor, { ...asked, segment: null }), money);
  // Long after its end an experiment has no sums of users any more: it stands as on its last day.
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
  const each = alpha / Math.max(1, names.length - 1);
  const today = dayOf(nowMs);
  const days = isOver ? points : [...points.filter(({ day }) => day !== today), { day: today, rows }];
  const overTime = days.map((point) => {
    const lifts = revenueLifts(names, armSums(point.rows, population), each);
    return {
      day: point.day,
      is_enough: lifts.length > 0 && lifts.every((one) => isAnswered(one, lift)),
      arms: lifts.map(({ arm, lift: found }) => ({ arm, lift: found })),
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
    segments: segment === null ? null : await readSegments(executor, { ...asked, segment, population, names, alpha }),
  };
}

/** Whether revenue was summed over several currencies, by an earlier release. */
const isMixed = ({ currency }: VersionMoney): boolean => currency === unknownCurrency;

/** The sums without those that compare nothing. */
const comparable = (rows: readonly SumsRow[], money: VersionMoney): SumsRow[] =>
  rows.filter(({ name, isOwn }) => isOwn || !isMixed(money) || (name !== 'revenue' && name !== 'paying'));

type Design = {
  arms: { key: string; share: number }[];
  holdout: number;
  allocation: { from: number; to: number; arm: string }[];
  isCurrent: boolean;
};

/** The share of the traffic that each arm has. */
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

/** What is measured, by arm. */
type Series = [name: string, MetricReport[]];

async function armReports(
  names: readonly string[],
  sums: readonly (ArmSums | null)[],
  money: VersionMoney,
): Promise<ArmReport[]> {
  const letOthersRun = createPacer();
  // Each arm is compared with the control: together they miss as often as one (Bonferroni).
  const each = alpha / Math.max(1, names.length - 1);
  const metric = async (pick: (arm: ArmSums) => Moments | undefined, factor: number): Promise<MetricReport[]> => {
    await letOthersRun();
    const moments = sums.map((arm) => (arm === null ? undefined : pick(arm)));
    const best = probabilitiesToBeBest(moments.map((one) => one ?? noMoments));
    return moments.map((own, at) => {
      const found = at === 0 ? null : compare(moments[0] ?? noMoments, own ?? noMoments, { alpha: each });
      return {
        value: ratioOf(own ?? noMoments) * factor,
        difference: found === null ? null : scaled(found.difference, factor),
        lift: found?.lift ?? null,
        is_significant: found?.isSignificant ?? false,
        probability_best: best[at] ?? 0,
      };
    });
  };
  const metrics: Series[] = [];
  for (const name of sessionMetrics.filter((one) => one !== 'revenue' || !isMixed(money)))
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

/** Whether the numbers of a report can be trusted. */
type Validity = {
  /** Users were lost or counted twice in some arms. */
  sample_ratio: { is_wrong: boolean; odds: number };
  /** An arm changes who sees an offer, so those who do cannot be compared; null: all users are. */
  seen_ratio: { is_wrong: boolean; odds: number } | null;
  /** Arms whose users differed from the control's before they were in the experiment. */
  before_exposure: { is_wrong: boolean; arms: string[] };
};

type Asked = {
  /** Arms, the control first, and the share of each. */
  names: readonly string[];
  shares: readonly number[];
  population: Population;
};

/** @param sums of all users, whatever they saw: a check must not look at what arms change */
function validityOf(sums: readonly ArmSums[], { names, shares, population }: Asked): Validity {
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
