import { goalProbability } from '../../budgets/goals.ts';
import type { Bits, EligibilityIndex, PriorityClass } from '../eligibility.ts';
import type { Candidate } from '../index/compile.ts';
import { hasBit } from '../index/index-filters.ts';
import { salts, uniform } from '../random.ts';
import type { DecisionInput } from '../types.ts';
import { drawRevenue, expectedRevenueOf, revenueModelOf } from './revenue-model.ts';
import type { RankedCandidate } from './sampled-ranking.ts';

type Options = { index: EligibilityIndex; bits: Bits; input: DecisionInput; priorityClass: PriorityClass };

/** The candidates of a class, first those of campaigns that are behind their goals, as far as that is needed. */
export function* goalsFirst(ranking: Iterable<RankedCandidate>, options: Options): Generator<RankedCandidate, void> {
  const first = behindGoals(options);
  yield* first;
  const taken = new Set(first.map(({ candidate }) => candidate));
  for (const ranked of ranking) if (!taken.has(ranked.candidate)) yield ranked;
}

/** Those further behind come first, then those of higher sampled revenue. */
function behindGoals({ index, bits, input, priorityClass }: Options): RankedCandidate[] {
  const { totals, model, seed } = input;
  const now = { totals, model, nowMs: input.context.nowMs };
  const behind = priorityClass.goals.flatMap((at) => {
    if (!hasBit(bits, at)) return [];
    const candidate = index.candidates[at] as Candidate;
    const probability = goalProbability(candidate.rules, now);
    if (uniform(seed, salts.goals + candidate.offer.campaign.id) >= probability) return [];
    return { probability, ...rankedOf(index, priorityClass, candidate, input) };
  });
  return behind
    .sort((a, b) => b.probability - a.probability || b.score - a.score)
    .map(({ probability: _, ...ranked }) => ranked);
}

function rankedOf(
  index: EligibilityIndex,
  priorityClass: PriorityClass,
  candidate: Candidate,
  input: DecisionInput,
): RankedCandidate {
  const revenue = expectedRevenueOf(index, priorityClass, candidate, input);
  if (!priorityClass.pays || revenue.meanMicros === 0) return { candidate, score: 0, ...revenue, isForGoal: true };
  const model = revenueModelOf(index, priorityClass, input);
  const score = drawRevenue(model, candidate.index - priorityClass.from, input.seed);
  return { candidate, score, ...revenue, isForGoal: true };
}
