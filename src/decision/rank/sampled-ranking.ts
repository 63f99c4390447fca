import { type Bits, nextBit } from '../index/bitset.ts';
import type { Candidate } from '../index/compile.ts';
import type { EligibilityIndex, PriorityClass } from '../index/eligibility.ts';
import { salts, uniform } from '../random.ts';
import type { DecisionInput } from '../types.ts';
import { drawRevenue, estimateRevenue, type RevenueModel, revenueModelOf } from './revenue-model.ts';

/** Share of decisions in which one eligible offer, picked uniformly, ranks first whatever its revenue. */
const explorationShare = 0.01;

export type RankedCandidate = {
  candidate: Candidate;
  /** Expected revenue of one impression as sampled, in millionths of the payout's currency. */
  score: number;
  /** The same without sampling. */
  meanMicros: number;
};

export type RankingOptions = {
  index: EligibilityIndex;
  /** The candidates that passed the index filters. */
  bits: Bits;
  input: DecisionInput;
  priorityClass: PriorityClass;
  /** Whether this class has the decision's exploration. */
  mayExplore: boolean;
};

/** Candidates ranked at first (count): few decisions take more. When they do, the next ones are four times as many. */
const firstLimit = 16;

/** Draws by score, the highest first; of equal scores the lower candidate. `members` are places in the class. */
type Draws = { scores: number[]; members: number[] };

/** The candidates of a class in which something pays, by sampled expected revenue, highest first. */
export function* sampledRanking(options: RankingOptions): Generator<RankedCandidate, void> {
  const { index, input, priorityClass } = options;
  const model = revenueModelOf(index, priorityClass, input);
  const rankedOf = (member: number, score: number): RankedCandidate => ({
    candidate: index.candidates[priorityClass.from + member] as Candidate,
    score,
    meanMicros: model.mean[member] as number,
  });
  const explored = options.mayExplore ? exploredOf(options) : -1;
  if (explored !== -1) {
    const candidate = index.candidates[priorityClass.from + explored] as Candidate;
    if (Number.isNaN(model.max[explored])) estimateRevenue(model, explored, candidate, input);
    yield rankedOf(explored, drawRevenue(model, explored, input.seed));
  }
  let [afterScore, afterMember] = [Number.POSITIVE_INFINITY, -1];
  for (let limit = firstLimit; ; limit *= 4) {
    const { scores, members } = bestDraws(options, model, limit, afterScore, afterMember);
    for (const [at, member] of members.entries()) if (member !== explored) yield rankedOf(member, scores[at] as number);
    if (members.length < limit) return;
    [afterScore, afterMember] = [scores[limit - 1] as number, members[limit - 1] as number];
  }
}

/** The best draws of the class, at most `limit`, among those that rank after a given one. */
function bestDraws(
  { index, bits, input, priorityClass: { from, to } }: RankingOptions,
  model: RevenueModel,
  limit: number,
  afterScore: number,
  afterMember: number,
): Draws {
  const { max } = model;
  const scores: number[] = [];
  const members: number[] = [];
  let lowest = -1; // of a full list; scores are at least 0
  for (let bit = nextBit(bits, from, to); bit !== -1; bit = nextBit(bits, bit + 1, to)) {
    const member = bit - from;
    if (Number.isNaN(max[member])) estimateRevenue(model, member, index.candidates[bit] as Candidate, input);
    if ((max[member] as number) <= lowest) continue;
    const score = drawRevenue(model, member, input.seed);
    if (score <= lowest || score > afterScore || (score === afterScore && member <= afterMember)) continue;
    let at = Math.min(scores.length, limit - 1);
    for (; at > 0 && (scores[at - 1] as number) < score; at--) {
      scores[at] = scores[at - 1] as number;
      members[at] = members[at - 1] as number;
    }
    scores[at] = score;
    members[at] = member;
    if (scores.length === limit) lowest = scores[limit - 1] as number;
  }
  return { scores, members };
}

/** Place in the class of the candidate that this decision explores; -1: none. */
function exploredOf({ bits, input: { seed }, priorityClass: { from, to } }: RankingOptions): number {
  if (uniform(seed, salts.isExploration) >= explorationShare) return -1;
  const eligible: number[] = [];
  for (let at = nextBit(bits, from, to); at !== -1; at = nextBit(bits, at + 1, to)) eligible.push(at - from);
  return eligible[Math.floor(uniform(seed, salts.exploredOffer) * eligible.length)] ?? -1;
}

/** The candidates of a class in which nothing pays, in the order of the catalogue. */
export function* catalogueRanking({
  index,
  bits,
  priorityClass: { from, to },
}: Pick<RankingOptions, 'index' | 'bits' | 'priorityClass'>): Generator<RankedCandidate, void> {
  for (let at = nextBit(bits, from, to); at !== -1; at = nextBit(bits, at + 1, to))
    yield { candidate: index.candidates[at] as Candidate, score: 0, meanMicros: 0 };
}
