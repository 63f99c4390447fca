import { goalNeed, goalProbability } from '../../budgets/goals.ts';
import type { GoalMetric } from '../../catalog/rules.ts';
import { scopedRateOf } from '../../learning/score.ts';
import type { Bits, EligibilityIndex, PriorityClass } from '../eligibility.ts';
import type { Candidate } from '../index/compile.ts';
import { hasBit } from '../index/index-filters.ts';
import { salts, uniform } from '../random.ts';
import type { DecisionInput } from '../types.ts';
import { drawRevenue, expectedRevenueOf, revenueModelOf } from './revenue-model.ts';
import type { RankedCandidate } from './sampled-ranking.ts';

type Options = { index: EligibilityIndex; bits: Bits; input: DecisionInput; priorityClass: PriorityClass };

/**
 * Yields the candidates of a priority class. Candidates whose campaigns are behind their goals are moved to the front
 * in as many decisions as the goals require.
 */
export function* goalsFirst(ranking: Iterable<RankedCandidate>, options: Options): Generator<RankedCandidate, void> {
  const first = behindGoals(options);
  yield* first;
  const prioritised = new Set(first.map(({ candidate }) => candidate));
  for (const ranked of ranking) if (!prioritised.has(ranked.candidate)) yield ranked;
}

/**
 * Returns the candidates whose campaigns are behind their goals. Goals that need the smallest share of the remaining
 * time come first, so that a goal that cannot be reached does not displace one that can. Equal shares are sorted by
 * sampled revenue.
 */
function behindGoals({ index, bits, input, priorityClass }: Options): RankedCandidate[] {
  const { totals, model, seed } = input;
  const now = { totals, model, nowMs: input.context.nowMs };
  const behind = priorityClass.goals.flatMap((at) => {
    if (!hasBit(bits, at)) return [];
    const candidate = index.candidates[at] as Candidate;
    const probability = goalProbability(candidate.rules, now);
    if (uniform(seed, salts.goals + candidate.offer.campaign.id) >= probability) return [];
    const perImpression = countOf(candidate, index, priorityClass, input);
    const need = goalNeed(candidate.rules, now, perImpression);
    return { need, ...rankedOf(index, priorityClass, candidate, input) };
  });
  return behind.sort((a, b) => a.need - b.need || b.score - a.score).map(({ need: _, ...ranked }) => ranked);
}

/**
 * Returns the expected number of goal events (impressions, clicks or conversions) per impression at the first position.
 */
function countOf(
  { offer, rules }: Candidate,
  index: EligibilityIndex,
  priorityClass: PriorityClass,
  input: DecisionInput,
): number {
  const metric: GoalMetric | undefined = rules.goal?.metric;
  if (metric === undefined || metric === 'impressions') return 1;
  const { scope } = revenueModelOf(index, priorityClass, input);
  const clicks = Math.min(1, scopedRateOf(scope.click, offer).mean);
  return metric === 'clicks' ? clicks : clicks * Math.min(1, scopedRateOf(scope.conversion, offer).mean);
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
