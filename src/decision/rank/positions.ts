import type { Candidate } from '../index/compile.ts';
import type { Exclusion } from '../index/exclusion.ts';
import type { CandidateStream } from './candidate-stream.ts';
import { type Conflicts, createConflicts } from './conflicts.ts';
import type { RankedCandidate } from './sampled-ranking.ts';
import type { Sequence } from './sequence.ts';

type FillOptions = {
  stream: CandidateStream;
  /** Most positions to fill. */
  count: number;
  onOfferwall: boolean;
  sequence: Sequence | null;
  /** Given: every candidate of the stream that is not chosen is reported. */
  onExcluded: ((candidate: Candidate, exclusion: Exclusion) => void) | undefined;
};

type Filling = FillOptions & {
  conflicts: Conflicts;
  /** Taken from the stream and not chosen yet, best first. */
  pending: RankedCandidate[];
};

/**
 * Fills the positions one after the other, each with the best candidate that sequence rules allow there and that
 * conflicts with none chosen before.
 * @returns `blocked`: how many candidates were left out by sequence rules alone
 */
export function fillPositions(options: FillOptions): { chosen: RankedCandidate[]; blocked: number } {
  const { stream, count, onOfferwall, sequence, onExcluded } = options;
  const conflicts = createConflicts(onOfferwall);
  const filling: Filling = { stream, count, onOfferwall, sequence, onExcluded, conflicts, pending: [] };
  const chosen: RankedCandidate[] = [];
  while (chosen.length < count) {
    const best = takeBest(filling, chosen.length + 1);
    if (best === null) break;
    filling.conflicts.add(best.candidate);
    chosen.push(best);
  }
  const blocked = filling.pending.length;
  if (onExcluded !== undefined) reportRest(filling, onExcluded);
  return { chosen, blocked };
}

/** Takes the candidate for a position out of the pending ones, reading the stream as far as needed. */
function takeBest(filling: Filling, position: number): RankedCandidate | null {
  const { pending, sequence, onOfferwall } = filling;
  const isReserved = sequence !== null && !onOfferwall && sequence.isReserved(position);
  const topGrade = isReserved ? sequence.topGrade(position) : 1;
  let bestAt = -1;
  let bestGrade = 0;
  for (let at = 0; bestGrade < topGrade; ) {
    const ranked = pending[at] ?? pull(filling);
    if (ranked === null) break;
    const conflict = filling.conflicts.find(ranked.candidate);
    if (conflict !== null) {
      filling.onExcluded?.(ranked.candidate, conflict);
      pending.splice(at, 1);
      continue;
    }
    const grade = gradeOf(filling, ranked, position, isReserved);
    if (grade > bestGrade) [bestAt, bestGrade] = [at, grade];
    at += 1;
  }
  return bestAt === -1 ? null : (pending.splice(bestAt, 1)[0] as RankedCandidate);
}

/** Moves the next candidate of the stream to the pending ones. */
function pull({ stream, pending }: Filling): RankedCandidate | null {
  const { value, done } = stream.next();
  if (done) return null;
  pending.push(value as RankedCandidate);
  return value as RankedCandidate;
}

/** How much a candidate is wanted at a position: 0 not at all, else higher first. */
function gradeOf(filling: Filling, { candidate }: RankedCandidate, position: number, isReserved: boolean): number {
  const { sequence, onOfferwall, onExcluded } = filling;
  if (sequence === null) return 1;
  // The positions of an offerwall are not limited: only rules for all positions hold there.
  const denying = sequence.deniedBy(candidate.offer, onOfferwall ? null : position);
  if (denying !== null) {
    onExcluded?.(candidate, { rule: 'sequence_denied', ruleId: denying.id });
    return 0;
  }
  const grade = isReserved ? sequence.grade(candidate.offer, position) : 1;
  if (grade === 0) onExcluded?.(candidate, { rule: 'sequence_reserved' });
  return grade;
}

function reportRest(filling: Filling, onExcluded: (candidate: Candidate, exclusion: Exclusion) => void): void {
  while (pull(filling) !== null);
  for (const { candidate } of filling.pending)
    onExcluded(candidate, filling.conflicts.find(candidate) ?? { rule: 'positions_filled', count: filling.count });
}
