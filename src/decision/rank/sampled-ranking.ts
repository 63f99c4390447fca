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

/** Share of decisions in which one eligible offer, picked uniformly, ranks first whatever its revenue. */
export const explorationShare = 0.01;

export type RankedCandidate = Reserve & {
  candidate: Candidate;
  /** The ranking score: expected revenue of one impression as sampled, in millionths of the payout's currency. */
  score: number;
  /** The same without sampling. */
  meanMicros: number;
  /** Whether it comes before others for the sake of its campaign's goal. */
  isForGoal?: true;
};

type Options = {
  index: EligibilityIndex;
  /** The candidates that passed the index filters. */
  bits: Bits;
  input: DecisionInput;
  priorityClass: PriorityClass;
  /** Whether this class has the decision's exploration. */
  mayExplore: boolean;
};

/** Candidates ranked at first (count): few decisions take more. When they do, the next ones are four times as many. */
const firstLimit = 8;

/** The candidates of a class in which something pays, by sampled expected revenue, highest first. */
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
  for (let limit = firstLimit; ; limit *= 4) {
    const { scores, members } = bestDraws({ model, bits, count, input }, createTop(limit, after));
    for (const [at, member] of members.entries()) if (member !== explored) yield rankedOf(member, scores[at] as number);
    if (members.length < limit) return;
    after = { score: scores[limit - 1] as number, member: members[limit - 1] as number };
  }
}

/** Whether a decision of a seed explores. */
export const isExploring = (seed: number): boolean => uniform(seed, salts.isExploration) < explorationShare;

/** Place in the class of the candidate that this decision explores; -1: none. */
function exploredOf({ bits, input: { seed }, priorityClass: { from, to } }: Options, count: number): number {
  if (count === 0 || !isExploring(seed)) return -1;
  return nextBit(bits, from, to, Math.floor(uniform(seed, salts.exploredOffer) * count)) - from;
}
