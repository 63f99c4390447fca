/** A session that was decided by the ranking as it is, and what another would have done in its place. */
export type Observed = {
  /** How many sessions it stands for (count). */
  weight: number;
  /** Of what was shown, by position. */
  shown: readonly Shown[];
  /** The probability that the other ranking shows an offer at a position, by position. */
  filled: readonly number[];
};

type Shown = {
  /** The probability that the other ranking shows this offer there, divided by that of the ranking as it is. */
  ratio: number;
  revenueMicros: number;
};

/** What another ranking would have earned; amounts of money by session (millionths). */
export type Estimate = {
  sessions: number;
  /** As many sessions of the other ranking say as much. */
  effectiveSessions: number;
  /** How much of what the other ranking shows was shown at all, now and then. */
  coverage: number;
  actualMicros: number;
  otherMicros: number;
  /** What the other earns more, as a part of what was earned, and its standard error. */
  lift: number;
  error: number;
  /** Whether the data answer the question. */
  isEnough: boolean;
};

/** Less is too little data: sessions of the other ranking, sessions with revenue (count), and coverage. */
const least = { effectiveSessions: 200, paidSessions: 50, coverage: 0.9 };
/** More is, too: the standard error of the lift. */
const maxError = 0.02;

/**
 * Self-normalised inverse propensity scoring (Swaminathan and Joachims 2015), for each position by itself: what is
 * shown where is taken to earn the same whatever is shown beside it. The error is that of the ratio, by the delta
 * method. Pure.
 */
export function estimateOther(observed: readonly Observed[]): Estimate {
  const all = sum(observed, ({ weight }) => weight);
  const depth = observed.reduce((most, { shown, filled }) => Math.max(most, shown.length, filled.length), 0);
  const positions = Array.from({ length: depth }, (_, at) => positionOf(observed, at, all));
  const actual = sum(observed, (one) => one.weight * revenueOf(one)) / all;
  const other = sum(positions, ({ filled, revenue }) => filled * revenue);
  const ratio = other / actual;
  const errors = observed.map((one) => {
    const influence = sum(positions, (position, at) => influenceOf(one, position, at));
    return (one.weight * (influence - ratio * (revenueOf(one) - actual))) / actual / all;
  });
  const ratios = observed.map(({ shown, weight }) => (weight * sum(shown, (one) => one.ratio)) / (shown.length || 1));
  const effectiveSessions = sum(ratios, (one) => one) ** 2 / sum(ratios, (one) => one * one) || 0;
  const coverage = sum(positions, ({ ratio: mean }) => mean) / sum(positions, ({ filled }) => filled) || 0;
  const error = Math.sqrt(sum(errors, (one) => one * one)) || 0;
  const paidSessions = observed.filter((one) => revenueOf(one) > 0).length;
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

/** Means of a position: of ratios by session, of what the other fills, and of revenue where the other shows. */
type Position = { ratio: number; filled: number; revenue: number };

function positionOf(observed: readonly Observed[], at: number, all: number): Position {
  const ratios = sum(observed, ({ weight, shown }) => weight * (shown[at]?.ratio ?? 0));
  const earned = sum(
    observed,
    ({ weight, shown }) => weight * (shown[at]?.ratio ?? 0) * (shown[at]?.revenueMicros ?? 0),
  );
  const filled = sum(observed, ({ weight, filled: of }) => weight * (of[at] ?? 0)) / all;
  return { ratio: ratios / all, filled, revenue: ratios === 0 ? 0 : earned / ratios };
}

/** How much a session moves what the other ranking earns at a position. */
function influenceOf({ shown, filled: of }: Observed, { ratio, filled, revenue }: Position, at: number): number {
  const own = shown[at];
  const moved = own === undefined || ratio === 0 ? 0 : (own.ratio * (own.revenueMicros - revenue)) / ratio;
  return filled * moved + ((of[at] ?? 0) - filled) * revenue;
}

const revenueOf = ({ shown }: Observed): number => sum(shown, ({ revenueMicros }) => revenueMicros);

function sum<T>(of: readonly T[], value: (one: T, at: number) => number): number {
  let all = 0;
  for (const [at, one] of of.entries()) all += value(one, at);
  return all;
}

const normal95 = 1.96;

/** The lift with its 95 % interval. */
export const intervalOf = ({ lift, error }: Estimate) => ({
  estimate: lift,
  low: Math.max(-1, lift - normal95 * error),
  high: lift + normal95 * error,
});
