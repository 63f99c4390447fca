import { type EligibilityIndex, indexOf } from './eligibility.ts';
import type { Candidate } from './index/compile.ts';
import type { Exclusion } from './index/exclusion.ts';
import { indexExclusionOf, passIndexFilters } from './index/index-filters.ts';
import { candidateStream } from './rank/candidate-stream.ts';
import { fillPositions } from './rank/positions.ts';
import type { RankedCandidate } from './rank/sampled-ranking.ts';
import { sequenceOf } from './rank/sequence.ts';
import { isInDeliveryShare, unitOf } from './rules/unit.ts';
import type { DecidedOffer, Decision, DecisionInput, EmptyReason } from './types.ts';

/** What an explanation hears of a decision while it is made. */
export type Observer = {
  /** A rule excludes a candidate; the first one reported for it counts. */
  onExcluded: (candidate: Candidate, exclusion: Exclusion) => void;
  /** An eligible candidate, best first. */
  onRanked: (candidate: Candidate, score: number) => void;
};

/**
 * The offers to show, in order (docs/guides/how-a-decision-is-made.md). Pure: the same input, seed included, gives the
 * same decision, bit for bit.
 */
export const decide = (input: DecisionInput): Decision => run(input, null);

/** `decide`, with an observer that is told of every candidate: decisions and explanations share this code. */
export function run(input: DecisionInput, observer: Observer | null): Decision {
  const { publisher, theme, context } = input;
  const index = indexOf(publisher);
  const relaxed = context.dev || publisher.testMode;
  const onExcluded = observer?.onExcluded;

  const off = whyOff(input, relaxed);
  if (off !== null) {
    if (onExcluded) for (const candidate of index.candidates) onExcluded(candidate, { rule: off });
    return { offers: [], emptyReason: off };
  }
  const bits = passIndexFilters(index, context, relaxed);
  if (onExcluded) reportIndexExclusions(index, input, relaxed, onExcluded);
  const stream = candidateStream({ index, bits, input, relaxed, onExcluded });
  const { chosen, blocked } = fillPositions({
    stream: observer === null ? stream : observed(stream, observer),
    count: context.count ?? unitOf(publisher, theme, context.placement).offersPerResponse,
    onOfferwall: context.surface === 'offerwall',
    sequence: relaxed ? null : sequenceOf(publisher, context.placement),
    onExcluded,
  });
  return { offers: chosen.map(decided), emptyReason: chosen.length > 0 ? null : whyEmpty(index, blocked) };
}

/** Why the whole unit shows nothing, or null. */
export function whyOff(input: DecisionInput, relaxed: boolean): (EmptyReason & ('unit_off' | 'percentage')) | null {
  const { publisher, theme, context, seed } = input;
  const unit = unitOf(publisher, theme, context.placement);
  if (!unit.enabled) return 'unit_off';
  if (relaxed) return null;
  const isServed = isInDeliveryShare(unit.deliveryPercentage, publisher.id, context.userKey ?? String(seed));
  return isServed ? null : 'percentage';
}

function whyEmpty(index: EligibilityIndex, blocked: number): EmptyReason {
  if (index.candidates.length === 0) return 'no_campaigns';
  return blocked > 0 ? 'sequence_rules' : 'nothing_eligible';
}

function reportIndexExclusions(
  index: EligibilityIndex,
  { context }: DecisionInput,
  relaxed: boolean,
  onExcluded: Observer['onExcluded'],
): void {
  const exclusionOf = indexExclusionOf(index, context, relaxed);
  for (const candidate of index.candidates) {
    const exclusion = exclusionOf(candidate);
    if (exclusion !== null) onExcluded(candidate, exclusion);
  }
}

function* observed(stream: Iterable<RankedCandidate>, { onRanked }: Observer): Generator<RankedCandidate, void> {
  for (const ranked of stream) {
    onRanked(ranked.candidate, ranked.score);
    yield ranked;
  }
}

const decided = ({ candidate, score, meanMicros }: RankedCandidate, at: number): DecidedOffer => ({
  offer: candidate.offer,
  position: at + 1,
  score,
  priority: candidate.priority,
  payout: candidate.payout,
  reserveMicros: Math.ceil(meanMicros),
});
