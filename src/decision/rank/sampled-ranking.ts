import type { Bits, EligibilityIndex, PriorityClass } from '../eligibility.ts';
import type { Candidate } from '../index/compile.ts';
import { countBits, nextBit } from '../index/index-filters.ts';
import { salts, uniform } from '../random.ts';
import type { DecisionInput } from '../types.ts';
import { bestDraws, createTop } from './best-draws.ts';
import {
  drawRevenue,
  ensureEstimated,
  meanRevenueOf,
  type Reserve,
  reserveOf,
  revenueModelOf,
} from './revenue-model.ts';

/**
 * Share of decisions that explore. In such a decision, an eligible offer chosen uniformly at random ranks first in its
 * class, regardless of its revenue.
 */
export const explorationShare = 0.01;

export type RankedCandidate = Reserve & {
  candidate: Candidate;
  /** Ranking score: sampled expected revenue per impression, in millionths of the payout's currency. */
  score: number;
  /** Mean expected revenue per impression, in millionths. */
  meanMicros: number;
  /** Whether the candidate ranks before others because its campaign is behind its goal. */
  isForGoal?: true;
};

type Options = {
  index: EligibilityIndex;
  /** Candidates that passed the index filters, as a bit set. */
  bits: Bits;
  input: DecisionInput;
  priorityClass: PriorityClass;
  /** Whether the decision may explore in this priority class. */
  mayExplore: boolean;
};

/**
 * Number of candidates to rank at first. Few decisions need more. If they do, the number is multiplied by four each
 * time, up to a maximum, after which all candidates are ranked.
 */
const [firstLimit, lastLimit] = [8, 512];

/** Yields the candidates of a paying priority class by sampled expected revenue, highest first. */
export function* sampledRanking(options: Options): Generator<RankedCandidate, void> {
  const { index, bits, input, priorityClass } = options;
  const model = revenueModelOf(index, priorityClass, input);
  const count = countBits(bits, priorityClass.from, priorityClass.to);
  const rankedOf = (member: number, score: number): RankedCandidate => {
    const { reserveMicros, reserveChance } = reserveOf(model, member);
    const candidate = index.candidates[priorityClass.from + member] as Candidate;
    return { candidate, score, meanMicros: meanRevenueOf(model, member), reserveMicros, reserveChance };
  };
  const explored = options.mayExplore ? exploredOf(options, count) : -1;
  if (explored !== -1) {
    ensureEstimated(model, explored, input);
    yield rankedOf(explored, drawRevenue(model, explored, input.seed));
  }
  let after = { score: Number.POSITIVE_INFINITY, member: -1 };
  for (let limit = firstLimit; ; limit = limit < lastLimit ? limit * 4 : Number.POSITIVE_INFINITY) {
    const { scores, members } = bestDraws({ model, bits, count, input }, createTop(limit, after));
    for (const [at, member] of members.entries()) if (member !== explored) yield rankedOf(member, scores[at] as number);
    if (members.length < limit) return;
    after = { score: scores[limit - 1] as number, member: members[limit - 1] as number };
  }
}

/** Whether a decision with this seed explores. */
export const isExploring = (seed: number): boolean => uniform(seed, salts.isExploration) < explorationShare;

/** Returns the class index of the candidate to explore, or -1 if the decision does not explore. */
function exploredOf({ bits, input: { seed }, priorityClass: { from, to } }: Options, count: number): number {
  if (count === 0 || !isExploring(seed)) return -1;
  return nextBit(bits, from, to, Math.floor(uniform(seed, salts.exploredOffer) * count)) - from;
}
