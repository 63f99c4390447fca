import type { OfferIndex, Publisher, Theme } from '../catalog/types.ts';
import { runAtOnce } from '../platform/lib/slices.ts';
import type { Bits, EligibilityIndex, Exclusion, PriorityClass } from './eligibility.ts';
import type { Candidate } from './index/compile.ts';
import { indexExclusionOf, nextBit, passIndexFilters } from './index/index-filters.ts';
import { hashText } from './random.ts';
import { goalsFirst } from './rank/goals-first.ts';
import { fillPositions, sequenceOf } from './rank/positions.ts';
import { expectedRevenueOf } from './rank/revenue-model.ts';
import { type RankedCandidate, sampledRanking } from './rank/sampled-ranking.ts';
import { postFilter } from './rules/post-filters.ts';
import type { DecidedOffer, Decision, DecisionInput, EmptyReason } from './types.ts';

/** Callbacks through which an explanation observes a decision. */
export type Observer = {
  /**
   * Called when a rule excludes a candidate. If it is called several times for a candidate, only the first call
   * matters.
   */
  onExcluded: (candidate: Candidate, exclusion: Exclusion) => void;
  /** Called for each eligible candidate, in ranking order. */
  onRanked: (ranked: RankedCandidate) => void;
  /**
   * Gets the work that reports all candidates without a position. There can be thousands, so that an observer can do
   * the work in slices. Without this callback, it is done at once.
   */
  onRest?: (work: Generator<void, void>) => void;
};

/**
 * Decides which offers to show, and in which order (docs/guides/how-a-decision-is-made.md). Pure function: identical
 * input, including the seed, produces an identical decision, bit for bit.
 */
export const decide = (input: DecisionInput): Decision => run(input, null);

/**
 * Runs a decision. An observer can follow what happens to each candidate, so that decisions and explanations share the
 * same code.
 */
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
  const {
    offers: filledOffers,
    blocked,
    reportRest,
  } = fillPositions({
    stream: observer === null ? stream : observed(stream, observer),
    count: context.count ?? unitOf(publisher, theme, context.placement).offersPerResponse,
    onOfferwall: context.surface === 'offerwall',
    elsewhere: context.shownElsewhere === null ? [] : oneOfEach(index, context.shownElsewhere),
    sequence: relaxed ? null : sequenceOf(publisher, context.placement),
    separateCategories: publisher.controls?.separateCategories ?? false,
    onExcluded,
  });
  if (observer?.onRest !== undefined) observer.onRest(reportRest());
  else if (observer !== null) runAtOnce(reportRest());
  return { offers: filledOffers.map(decided), emptyReason: filledOffers.length > 0 ? null : whyEmpty(index, blocked) };
}

/**
 * Returns the first candidate of each campaign. That is sufficient, because all candidates of a campaign have the same
 * exclusion groups.
 */
const oneOfEach = ({ byCampaign, candidates }: EligibilityIndex, campaignIds: readonly number[]): Candidate[] =>
  campaignIds.flatMap((id) => candidates[byCampaign.get(id)?.[0] ?? -1] ?? []);

type StreamOptions = {
  index: EligibilityIndex;
  /** Candidates that passed the index filters, as a bit set. */
  bits: Bits;
  input: DecisionInput;
  /** Whether the request is in dev or test mode, in which post-filters do not apply. */
  relaxed: boolean;
  onExcluded: ((candidate: Candidate, exclusion: Exclusion) => void) | undefined;
};

/**
 * Yields eligible candidates, best first. Post-filters are evaluated lazily, only for candidates that the caller
 * requests.
 */
function* candidateStream(options: StreamOptions): Generator<RankedCandidate, void> {
  const { index, bits, input, relaxed, onExcluded } = options;
  const { publisher, context } = input;
  const floorMicros = relaxed
    ? 0
    : (context.arm?.floorMicros ?? publisher.controls?.floors.get(context.placement) ?? 0);
  let mayExplore = true;
  for (const priorityClass of index.classes) {
    const ranking =
      priorityClass.pays && context.arm?.ranking !== 'fixed'
        ? sampledRanking({ index, bits, input, priorityClass, mayExplore })
        : catalogueRanking(index, bits, priorityClass, input);
    if (priorityClass.pays) mayExplore = false;
    const isPlain = priorityClass.goals.length === 0 || relaxed;
    for (const ranked of isPlain ? ranking : goalsFirst(ranking, { index, bits, input, priorityClass })) {
      const exclusion =
        withheld(ranked, context) ??
        (relaxed ? null : (belowFloor(ranked, floorMicros) ?? postFilter(ranked.candidate, index, input)));
      if (exclusion === null) yield ranked;
      else onExcluded?.(ranked.candidate, exclusion);
    }
  }
}

/**
 * Returns the exclusion of an offer whose campaign is hidden from users in the hold-out arm, or null if it is not
 * hidden from this user.
 */
const withheld = ({ candidate }: RankedCandidate, context: DecisionInput['context']): Exclusion | null =>
  context.arm?.withheld?.includes(candidate.offer.campaign.id) === true ? { rule: 'held_out' } : null;

/**
 * Returns the exclusion of an offer below the revenue floor, or null if it reaches the floor. `floorMicros` is the
 * minimum expected revenue per impression, in millionths.
 */
const belowFloor = ({ meanMicros }: RankedCandidate, floorMicros: number): Exclusion | null =>
  meanMicros < floorMicros ? { rule: 'blocked_by_publisher', by: 'floor', value: String(floorMicros / 1000) } : null;

/**
 * Yields the candidates of a priority class in catalogue order. Used for classes without payouts and for classes with
 * fixed ranking.
 */
function* catalogueRanking(
  index: EligibilityIndex,
  bits: Bits,
  priorityClass: PriorityClass,
  input: DecisionInput,
): Generator<RankedCandidate, void> {
  const { from, to } = priorityClass;
  for (let at = nextBit(bits, from, to); at !== -1; at = nextBit(bits, at + 1, to)) {
    const candidate = index.candidates[at] as Candidate;
    yield { candidate, score: 0, ...expectedRevenueOf(index, priorityClass, candidate, input) };
  }
}

/** Returns the publisher's eligibility index, which `buildIndex` stored in the snapshot. */
export function indexOf({ index }: Publisher): EligibilityIndex {
  if (isEligibilityIndex(index)) return index;
  const { length } = index.offers; // fails with `unavailable` if the publisher is not loaded
  throw new Error(`the snapshot was built with another index, for ${length} offers`);
}

const isEligibilityIndex = (index: OfferIndex): index is EligibilityIndex => 'candidates' in index;

/** Returns the reason why the unit shows no offers at all, or null if it may show offers. */
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
    onRanked(ranked);
    yield ranked;
  }
}

const decided = (
  { candidate, score, meanMicros, reserveMicros, reserveChance }: RankedCandidate,
  at: number,
): DecidedOffer => ({
  offer: candidate.offer,
  position: at + 1,
  score,
  meanMicros,
  priority: candidate.priority,
  payout: candidate.payout,
  reserveMicros: Math.ceil(reserveMicros),
  reserveChance,
});

/**
 * Unit settings that apply at a placement. A placement's settings take precedence over the theme's, and the theme's
 * over the publisher's.
 */
type UnitRules = { enabled: boolean; offersPerResponse: number; deliveryPercentage: number };

function unitOf(publisher: Publisher, theme: Theme | null, placementName: string): UnitRules {
  const placement = publisher.placements.get(placementName);
  return {
    enabled: placement?.unitEnabled ?? theme?.unitEnabled ?? publisher.unitEnabled,
    offersPerResponse: placement?.offersPerResponse ?? theme?.offersPerResponse ?? publisher.offersPerResponse,
    deliveryPercentage: placement?.deliveryPercentage ?? theme?.deliveryPercentage ?? publisher.deliveryPercentage,
  };
}

/**
 * Whether the user belongs to the share of users who get offers. The result is stable per user. A user who is included
 * at one percentage is also included at every higher one.
 */
function isInDeliveryShare(percentage: number, publisherId: number, userKey: string): boolean {
  return percentage >= 100 || (hashText(`${publisherId} ${userKey}`) / 2 ** 32) * 100 < percentage;
}
