import { type Bits, nextBit } from './bitset.ts';
import type { Candidate } from './compile.ts';
import type { EligibilityIndex } from './eligibility.ts';
import { Heap } from './heap.ts';
import type { Objection } from './objections.ts';
import { salts, uniform } from './random.ts';
import { residualObjection } from './residual.ts';
import { drawScore, type Estimate, estimatesOf } from './scores.ts';
import type { DecisionInput } from './types.ts';

/** The share of decisions in which one offer, picked evenly, goes before those that draw higher. */
export const exploredShare = 0.01;

/** A candidate that nothing shuts out. */
export type Contender = { candidate: Candidate; score: number; run: PaidRun | null };

/** Survivors of equal force and priority that compete by expected revenue. */
export type PaidRun = {
  members: readonly Candidate[];
  estimateOf: (candidate: Candidate) => Estimate;
  /** The chance that an offer is put first without regard to its draw. */
  exploredChance: number;
};

/** Contenders, best first; null: no more. Only those asked for meet the residual rules. */
export type Field = () => Contender | null;

type FieldOptions = {
  index: EligibilityIndex;
  bits: Bits;
  input: DecisionInput;
  relaxed: boolean;
  onObjection: ((candidate: Candidate, objection: Objection) => void) | null;
};

export function createField({ index, bits, input, relaxed, onObjection }: FieldOptions): Field {
  const { publisher, context, posteriors, seed } = input;
  let nextClass = 0;
  let current: () => Contender | null = () => null;
  let explored = false;

  function passes(candidate: Candidate): boolean {
    const objection = relaxed ? null : residualObjection(candidate, index, input);
    if (objection !== null) onObjection?.(candidate, objection);
    return objection === null;
  }

  /** In the order of the catalogue. */
  function unpaid(from: number, to: number): () => Contender | null {
    let at = from;
    return () => {
      const found = nextBit(bits, at, to);
      at = found === -1 ? to : found + 1;
      return found === -1 ? null : { candidate: index.candidates[found] as Candidate, score: 0, run: null };
    };
  }

  function paid(from: number, to: number): () => Contender | null {
    const members: Candidate[] = [];
    for (let at = nextBit(bits, from, to); at !== -1; at = nextBit(bits, at + 1, to)) members.push(index.candidates[at] as Candidate);
    const estimateOf = estimatesOf(index, publisher.id, context.placement, posteriors);
    const scores = new Float64Array(members.length);
    for (let at = 0; at < members.length; at++)
      scores[at] = drawScore(estimateOf(members[at] as Candidate), (members[at] as Candidate).offer.id, seed);
    const explores = !explored && members.length > 0;
    explored ||= explores;
    const run: PaidRun = { members, estimateOf, exploredChance: explores ? exploredShare / members.length : 0 };
    const first =
      explores && uniform(seed, salts.explore) < exploredShare ? Math.floor(uniform(seed, salts.explored) * members.length) : -1;
    const heap = new Heap(first === -1 ? scores : scores.with(first, Number.POSITIVE_INFINITY));
    return () => {
      const found = heap.take();
      return found === -1 ? null : { candidate: members[found] as Candidate, score: scores[found] as number, run };
    };
  }

  return () => {
    for (;;) {
      for (let contender = current(); contender !== null; contender = current()) {
        if (passes(contender.candidate)) return contender;
      }
      const to = index.classEnds[nextClass];
      if (to === undefined) return null;
      const from = index.classEnds[nextClass - 1] ?? 0;
      current = index.classPays[nextClass] === true ? paid(from, to) : unpaid(from, to);
      nextClass += 1;
    }
  };
}
