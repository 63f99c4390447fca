import type { Offer } from '../catalog/types.ts';
import { indexOf, run, whyOff } from './decide.ts';
import type { Exclusion } from './eligibility.ts';
import type { Candidate } from './index/compile.ts';
import { indexExclusions } from './index/index-filters.ts';
import { exchangeInfluence, type Influence, influencesOf } from './influences.ts';
import type { RankedCandidate } from './rank/sampled-ranking.ts';
import { type Reason, reasonOf, shownForGoal, shownReason } from './reason.ts';
import { postExclusions } from './rules/post-filters.ts';
import type { DecisionInput } from './types.ts';

export type Explanation = {
  offer: Offer;
  /** Rank among the eligible offers, from 1, or null if the offer is excluded. */
  rank: number | null;
  score: number | null;
  /** Position at which the offer is shown, from 1, or null if it is not shown. */
  position: number | null;
  /** First rule that excludes the offer, or null if it is shown. */
  rule: string | null;
  readonly reason: Reason;
  /** Request properties with the largest effect on the offer's score. Empty if the offer is excluded. */
  readonly influences: readonly Influence[];
};

/**
 * Explains why each offer provisioned to the publisher is shown or not, by observing an actual decision. Shown offers
 * come first, then other eligible offers by rank, then excluded offers. The caller may do other work at each `yield`,
 * because a publisher can have 10,000 offers.
 */
export function* explain(input: DecisionInput): Generator<void, Explanation[]> {
  const { candidates, withheld } = indexOf(input.publisher);
  // Lists by the index of the candidate are several times as fast as maps of thousands of candidates.
  const exclusions: (Exclusion | undefined)[] = new Array(candidates.length);
  const ranks: (number | undefined)[] = new Array(candidates.length);
  const ranked: RankedCandidate[] = [];
  const rest: Generator<void, void>[] = [];
  const { offers } = run(input, {
    onExcluded: ({ index }, exclusion) => {
      exclusions[index] ??= exclusion;
    },
    onRanked: (next) => {
      ranks[next.candidate.index] = ranked.push(next);
    },
    onRest: (work) => rest.push(work),
  });
  yield;
  for (const work of rest) yield* work;
  const positions = new Map(offers.map(({ offer, position }) => [offer, position]));

  /** Creates an explanation. Pages show few of them in detail, so reasons and influences are computed when read. */
  function explanationOf(candidate: Candidate): Explanation {
    const { offer, index } = candidate;
    const rank = ranks[index] ?? null;
    const { score = null, isForGoal = false } = ranked[(rank ?? 0) - 1] ?? {};
    const position = positions.get(offer) ?? null;
    const exclusion = position === null ? exclusions[index] : undefined;
    return {
      offer,
      rank,
      score,
      position,
      rule: exclusion?.rule ?? null,
      get reason() {
        if (exclusion !== undefined) return reasonOf(exclusion, candidate, input);
        return isForGoal ? shownForGoal(position ?? 0, candidate, input) : shownReason(position ?? 0);
      },
      get influences() {
        return rank === null ? [] : [...exchangeInfluence(candidate, input), ...influencesOf(candidate, input)];
      },
    };
  }

  const notServed = withheld.map(({ offer, exclusion }): Explanation => {
    const reason = reasonOf(exclusion, null, input);
    return { offer, rank: null, score: null, position: null, rule: exclusion.rule, reason, influences: [] };
  });
  const eligible = ranked.map(({ candidate }) => explanationOf(candidate));
  yield;
  const excluded = candidates.filter(({ index }) => ranks[index] === undefined).map(explanationOf);
  yield;
  return [
    ...eligible.filter(isShown).sort((a, b) => Number(a.position) - Number(b.position)),
    ...eligible.filter((explanation) => !isShown(explanation)),
    ...[...excluded, ...notServed].sort((a, b) => a.offer.id - b.offer.id),
  ];
}

const isShown = ({ position }: Explanation): boolean => position !== null;

/** Rule that excludes an offer, and the reason. */
export type FailingRule = { rule: Exclusion['rule']; reason: Reason };

/**
 * Returns all rules that exclude an offer from a decision, in evaluation order. A real decision stops at the first one.
 * If the result is empty, the offer is eligible, and only its rank determines whether it is shown. Competition with
 * other offers is not considered; see {@link explain}.
 */
export function failingRules(input: DecisionInput, offerId: number): FailingRule[] {
  const index = indexOf(input.publisher);
  const toFailing = (exclusion: Exclusion): FailingRule => ({
    rule: exclusion.rule,
    reason: reasonOf(exclusion, candidate ?? null, input),
  });
  const candidate = index.candidates.find(({ offer }) => offer.id === offerId);
  if (candidate === undefined)
    return index.withheld.filter(({ offer }) => offer.id === offerId).map(({ exclusion }) => toFailing(exclusion));
  const relaxed = input.context.dev || input.publisher.testMode;
  const off = whyOff(input, relaxed);
  return [
    ...(off === null ? [] : [{ rule: off } as const]),
    ...indexExclusions(candidate, index, input.context, relaxed),
    ...(relaxed ? [] : postExclusions(candidate, index, input)),
  ].map(toFailing);
}
