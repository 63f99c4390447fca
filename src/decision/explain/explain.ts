import { run } from '../decide.ts';
import type { Candidate } from '../index/compile.ts';
import { indexOf } from '../index/eligibility.ts';
import type { DecisionInput, Explanation } from '../types.ts';
import type { Objection } from './exclusions.ts';
import { inWords } from './wording.ts';

/**
 * Why each offer that is provisioned to the publisher is shown, or not: the decision itself, watched. Those shown come
 * first, then those that could have been, by rank, then those that a rule shut out.
 */
export function explain(input: DecisionInput): Explanation[] {
  const { candidates, withheld } = indexOf(input.publisher);
  const objections = new Map<Candidate, Objection>();
  const ranks = new Map<Candidate, { rank: number; score: number }>();
  const { offers } = run(input, {
    object: (candidate, objection) => {
      if (!objections.has(candidate)) objections.set(candidate, objection);
    },
    rank: (candidate, score) => {
      ranks.set(candidate, { rank: ranks.size + 1, score });
    },
  });
  const positions = new Map(offers.map(({ offer, position }) => [offer, position]));

  function explanationOf(candidate: Candidate): Explanation {
    const { offer } = candidate;
    const { rank = null, score = null } = ranks.get(candidate) ?? {};
    const position = positions.get(offer) ?? null;
    const objection = objections.get(candidate);
    if (objection === undefined || position !== null)
      return { offer, rank, score, position, rule: null, reason: `Shown at position ${position}.` };
    return { offer, rank, score, position, rule: objection.rule, reason: inWords(objection, candidate, input) };
  }

  const paused = withheld.map(({ offer, rule }) => ({
    offer,
    rank: null,
    score: null,
    position: null,
    rule,
    reason: inWords({ rule }, null, input),
  }));
  return [...candidates.map(explanationOf), ...paused].sort(byPlace);
}

const byPlace = (a: Explanation, b: Explanation): number =>
  (a.position ?? Number.MAX_SAFE_INTEGER) - (b.position ?? Number.MAX_SAFE_INTEGER) ||
  (a.rank ?? Number.MAX_SAFE_INTEGER) - (b.rank ?? Number.MAX_SAFE_INTEGER) ||
  a.offer.id - b.offer.id;
