import type { EligibilityIndex } from '../eligibility.ts';
import type { Bits } from '../index/bitset.ts';
import type { Candidate } from '../index/compile.ts';
import type { Exclusion } from '../index/exclusion.ts';
import { postFilter } from '../rules/post-filters.ts';
import type { DecisionInput } from '../types.ts';
import { catalogueRanking, type RankedCandidate, sampledRanking } from './sampled-ranking.ts';

export type CandidateStream = Iterator<RankedCandidate, void>;

type StreamOptions = {
  index: EligibilityIndex;
  /** The candidates that passed the index filters. */
  bits: Bits;
  input: DecisionInput;
  /** Dev or test mode: post-filters do not apply. */
  relaxed: boolean;
  onExcluded: ((candidate: Candidate, exclusion: Exclusion) => void) | undefined;
};

/** Eligible candidates, best first. Post-filters run only for the candidates that are asked for. */
export function* candidateStream(options: StreamOptions): Generator<RankedCandidate, void> {
  const { index, bits, input, relaxed, onExcluded } = options;
  let mayExplore = true;
  for (const priorityClass of index.classes) {
    const ranking = priorityClass.pays
      ? sampledRanking({ index, bits, input, priorityClass, mayExplore })
      : catalogueRanking({ index, bits, priorityClass });
    if (priorityClass.pays) mayExplore = false;
    for (const ranked of ranking) {
      const exclusion = relaxed ? null : postFilter(ranked.candidate, index, input);
      if (exclusion === null) yield ranked;
      else onExcluded?.(ranked.candidate, exclusion);
    }
  }
}
