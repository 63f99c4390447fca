/** A session decided by the actual ranking, and what another ranking would have done. */
export type Observed = {
  /** Number of sessions that it represents. */
  weight: number;
  /** Shown offers by position. */
  shown: readonly Impression[];
  /** Probability that the other ranking shows an offer, by position. */
  filled: readonly number[];
};

type Impression = {
  /** Probability that the other ranking shows this offer at this position, divided by that of the actual ranking. */
  ratio: number;
  revenueMicros: number;
};

/** Estimated earnings of another ranking. Amounts are per session (millionths). */
export type Estimate = {
  sessions: number;
  /** Effective sample size: number of sessions of the other ranking with the same information. */
  effectiveSessions: number;
  /** Share of the other ranking's offers that were ever shown. */
  coverage: number;
  actualMicros: number;
  otherMicros: number;
  /** Relative gain of the other ranking, and its standard error. */
  lift: number;
  error: number;
  /** Whether there is enough data. */
  isEnough: boolean;
};

/** Minimum data: effective sessions, sessions with revenue, and coverage. */
const least = { effectiveSessions: 200, paidSessions: 50, coverage: 0.9 };
/** Maximum standard error of the lift. */
const maxError = 0.02;

/**
 * Self-normalised inverse propensity scoring (Swaminathan and Joachims 2015), separately for each position. It assumes
 * that an offer at a position earns the same whatever is shown next to it. The error is that of the ratio, by the delta
 * method. Pure function.
 */
export function estimateOther(observed: readonly Observed[]): Estimate {
  const all = sum(observed, ({ weight }) => weight);
  const depth = observed.reduce(
    (most, { shown: impressions, filled }) => Math.max(most, impressions.length, filled.length),
    0,
  );
  const positions = Array.from({ length: depth }, (_, at) => positionOf(observed, at, all));
  const actual = sum(observed, (session) => session.weight * revenueOf(session)) / all;
  const other = sum(positions, ({ filled, revenue }) => filled * revenue);
  const ratio = other / actual;
  const errors = observed.map((session) => {
    const influence = sum(positions, (position, at) => influenceOf(session, position, at));
    return (session.weight * (influence - ratio * (revenueOf(session) - actual))) / actual / all;
  });
  const ratios = observed.map(
    ({ shown: impressions, weight }) =>
      (weight * sum(impressions, (impression) => impression.ratio)) / (impressions.length || 1),
  );
  const effectiveSessions =
    sum(ratios, (sessionRatio) => sessionRatio) ** 2 / sum(ratios, (sessionRatio) => sessionRatio * sessionRatio) || 0;
  const coverage = sum(positions, ({ ratio: mean }) => mean) / sum(positions, ({ filled }) => filled) || 0;
  const error = Math.sqrt(sum(errors, (deviation) => deviation * deviation)) || 0;
  const paidSessions = observed.filter((session) => revenueOf(session) > 0).length;
  return {
    sessions: observed.length,
    effectiveSessions,
    coverage,
    actualMicros: actual || 0,
    otherMicros: other || 0,
    lift: ratio - 1 || 0,
    error,
    isEnough:
      error <= maxError &&
      effectiveSessions >= least.effectiveSessions &&
      paidSessions >= least.paidSessions &&
      coverage >= least.coverage &&
      actual > 0,
  };
}

/**
 * Means of a position: ratio by session, probability that the other ranking fills it, and revenue of the other ranking
 * there.
 */
type Position = { ratio: number; filled: number; revenue: number };

function positionOf(observed: readonly Observed[], at: number, all: number): Position {
  const ratios = sum(observed, ({ weight, shown: impressions }) => weight * (impressions[at]?.ratio ?? 0));
  const earned = sum(
    observed,
    ({ weight, shown: impressions }) => weight * (impressions[at]?.ratio ?? 0) * (impressions[at]?.revenueMicros ?? 0),
  );
  const filled = sum(observed, ({ weight, filled: of }) => weight * (of[at] ?? 0)) / all;
  return { ratio: ratios / all, filled, revenue: ratios === 0 ? 0 : earned / ratios };
}

/** Influence of a session on what the other ranking earns at a position. */
function influenceOf(
  { shown: impressions, filled: of }: Observed,
  { ratio, filled, revenue }: Position,
  at: number,
): number {
  const own = impressions[at];
  const moved = own === undefined || ratio === 0 ? 0 : (own.ratio * (own.revenueMicros - revenue)) / ratio;
  return filled * moved + ((of[at] ?? 0) - filled) * revenue;
}

const revenueOf = ({ shown: impressions }: Observed): number => sum(impressions, ({ revenueMicros }) => revenueMicros);

function sum<T>(of: readonly T[], value: (one: T, at: number) => number): number {
  let all = 0;
  for (const [at, item] of of.entries()) all += value(item, at);
  return all;
}

const normal95 = 1.96;

/** Lift with its 95 % confidence interval. */
export const intervalOf = ({ lift, error }: Estimate) => ({
  estimate: lift,
  low: Math.max(-1, lift - normal95 * error),
  high: lift + normal95 * error,
});
