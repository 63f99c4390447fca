import type { Objection } from '../explain/exclusions.ts';
import { type Contender, createPaidRun } from '../rank/revenue-class.ts';
import type { DecisionInput } from '../types.ts';
import { type Bits, nextBit } from './bitset.ts';
import type { Candidate } from './compile.ts';
import type { EligibilityIndex } from './eligibility.ts';
import { residualObjection } from './post-filters.ts';

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
      return found === -1
        ? null
        : { candidate: index.candidates[found] as Candidate, score: 0, estimate: null, run: null, exploredChance: 0 };
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
      if (index.classPays[nextClass] === true) {
        current = createPaidRun({ index, bits, input, classNo: nextClass, from, to, mayExplore: !explored });
        explored = true;
      } else current = unpaid(from, to);
      nextClass += 1;
    }
  };
}
