import type { Offer } from '../catalog/types.ts';
import { run } from './decide.ts';
import { indexOf } from './eligibility.ts';
import type { Candidate } from './index/compile.ts';
import type { Exclusion } from './index/exclusion.ts';
import { type Reason, reasonOf, shownReason } from './reason.ts';
import type { DecisionInput } from './types.ts';

export type Explanation = {
  offer: Offer;
  /** Place among the eligible offers, from 1; null: excluded. */
  rank: number | null;
  score: number | null;
  /** From 1; null: not shown. */
  position: number | null;
  /** The first rule that excludes it; null: it is shown. */
  rule: string | null;
  reason: Reason;
};

/**
 * For each offer provisioned to the publisher, why it is shown or not: the decision itself, observed. Shown offers come
 * first, then the other eligible ones by rank, then those excluded.
 */
export function explain(input: DecisionInput): Explanation[] {
  const { candidates, withheld } = indexOf(input.publisher);
  const exclusions = new Map<Candidate, Exclusion>();
  const ranks = new Map<Candidate, { rank: number; score: number }>();
  const { offers } = run(input, {
    onExcluded: (candidate, exclusion) => {
      if (!exclusions.has(candidate)) exclusions.set(candidate, exclusion);
    },
    onRanked: (candidate, score) => {
      ranks.set(candidate, { rank: ranks.size + 1, score });
    },
  });
  const positions = new Map(offers.map(({ offer, position }) => [offer, position]));

  function explanationOf(candidate: Candidate): Explanation {
    const { offer } = candidate;
    const { rank = null, score = null } = ranks.get(candidate) ?? {};
    const position = positions.get(offer) ?? null;
    const exclusion = exclusions.get(candidate);
    if (exclusion === undefined || position !== null)
      return { offer, rank, score, position, rule: null, reason: shownReason(position ?? 0) };
    const reason = reasonOf(exclusion, candidate, input);
    return { offer, rank, score, position, rule: exclusion.rule, reason };
  }

  const notServed = withheld.map(({ offer, rule }): Explanation => {
    const reason = reasonOf({ rule }, null, input);
    return { offer, rank: null, score: null, position: null, rule, reason };
  });
  return [...candidates.map(explanationOf), ...notServed].sort(byPositionThenRank);
}

const byPositionThenRank = (a: Explanation, b: Explanation): number =>
  (a.position ?? Number.MAX_SAFE_INTEGER) - (b.position ?? Number.MAX_SAFE_INTEGER) ||
  (a.rank ?? Number.MAX_SAFE_INTEGER) - (b.rank ?? Number.MAX_SAFE_INTEGER) ||
  a.offer.id - b.offer.id;
