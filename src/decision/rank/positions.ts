import { plainText } from '../../catalog/names.ts';
import type { Offer, Publisher, SequenceRule } from '../../catalog/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import type { Exclusion } from '../eligibility.ts';
import type { Candidate } from '../index/compile.ts';
import type { RankedCandidate } from './sampled-ranking.ts';

type FillRules = {
  /** Iterator over eligible candidates, best first. */
  stream: Iterator<RankedCandidate, void>;
  /** Maximum number of positions to fill. */
  count: number;
  onOfferwall: boolean;
  sequence: Sequence | null;
  /** Callback for each candidate read from the stream but not chosen. Undefined if there is no observer. */
  onExcluded: ((candidate: Candidate, exclusion: Exclusion) => void) | undefined;
};

type FillOptions = FillRules & {
  /** One candidate of each campaign that the same call shows at other placements. */
  elsewhere: readonly Candidate[];
  /** Whether at most one offer per category may be shown. */
  separateCategories: boolean;
};

type Filling = FillRules & {
  conflicts: Conflicts;
  /** Candidates that were read from the stream but not chosen yet, best first. */
  pending: RankedCandidate[];
};

/**
 * Fills the positions in order. Each position gets the best candidate that the sequence rules allow there and that does
 * not conflict with offers already chosen.
 * @returns the chosen `offers`; `blocked` is the number of candidates that only sequence rules excluded; `reportRest`
 * reports all other candidates to `onExcluded`, in slices
 */
export function fillPositions(options: FillOptions): {
  offers: RankedCandidate[];
  blocked: number;
  reportRest: () => Generator<void, void>;
} {
  const { stream, count, onOfferwall, sequence, onExcluded } = options;
  const conflicts = createConflicts(onOfferwall, options.elsewhere, options.separateCategories);
  const filling: Filling = { stream, count, onOfferwall, sequence, onExcluded, conflicts, pending: [] };
  const offers: RankedCandidate[] = [];
  while (offers.length < count) {
    const best = removeBest(filling, offers.length + 1);
    if (best === null) break;
    filling.conflicts.add(best.candidate);
    offers.push(best);
  }
  const blocked = filling.pending.length;
  return { offers, blocked, reportRest: () => reportRest(filling) };
}

/**
 * Removes the best candidate for a position from the pending candidates, and returns it. Reads the stream as far as
 * needed.
 */
function removeBest(filling: Filling, position: number): RankedCandidate | null {
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

/** Moves the next candidate from the stream to the pending candidates, and returns it. */
function pull({ stream, pending }: Filling): RankedCandidate | null {
  const { value, done } = stream.next();
  if (done) return null;
  pending.push(value as RankedCandidate);
  return value as RankedCandidate;
}

/** Returns the grade of a candidate for a position. Grade 0 excludes the candidate; higher grades are preferred. */
function gradeOf(filling: Filling, { candidate }: RankedCandidate, position: number, isReserved: boolean): number {
  const { sequence, onOfferwall, onExcluded } = filling;
  if (sequence === null) return 1;
  // On an offerwall, apply only sequence rules for all positions, because the number of positions is unlimited.
  const denying = sequence.deniedBy(candidate.offer, onOfferwall ? null : position);
  if (denying !== null) {
    onExcluded?.(candidate, { rule: 'sequence_denied', ruleId: denying.id });
    return 0;
  }
  const grade = isReserved ? sequence.grade(candidate.offer, position) : 1;
  if (grade === 0) onExcluded?.(candidate, { rule: 'sequence_reserved' });
  return grade;
}

/** Number of candidates per slice of `reportRest`. */
const candidatesAtOnce = 1000;

function* reportRest(filling: Filling): Generator<void, void> {
  const withoutPosition: Exclusion = { rule: 'positions_filled', count: filling.count };
  while (pull(filling) !== null) if (filling.pending.length % candidatesAtOnce === 0) yield;
  for (const { candidate } of filling.pending)
    filling.onExcluded?.(candidate, filling.conflicts.find(candidate) ?? withoutPosition);
}

type Conflicts = {
  /** Returns the conflict between a candidate and the candidates added so far, or null if none exists. */
  find: (candidate: Candidate) => Exclusion | null;
  add: (candidate: Candidate) => void;
};

/**
 * Tracks conflicts between the offers in a response. The limits are:
 * - One offer per campaign in the response. This is the only limit for offerwalls.
 * - One campaign per exclusion group, across all placements in the response.
 * - One offer per category, across all placements, if the publisher separates categories.
 * - One offer per advertiser in each unit.
 */
function createConflicts(
  onOfferwall: boolean,
  elsewhere: readonly Candidate[],
  separateCategories: boolean,
): Conflicts {
  const campaigns = new Map<number, Candidate>();
  const advertisers = new Map<number, Candidate>();
  const groups = new Map<string, Candidate>();
  const categories = new Set<string>();
  const addCategory = ({ offer: { campaign } }: Candidate): void => {
    if (separateCategories && campaign.category !== '') categories.add(plainText(campaign.category));
  };
  for (const candidate of elsewhere) {
    campaigns.set(candidate.offer.campaign.id, candidate);
    for (const group of candidate.rules.groups) groups.set(group, candidate);
    addCategory(candidate);
  }

  function find({ offer: { campaign }, rules }: Candidate): Exclusion | null {
    const sameCampaign = campaigns.get(campaign.id);
    if (sameCampaign !== undefined)
      return elsewhere.includes(sameCampaign)
        ? { rule: 'other_placement' }
        : { rule: 'same_campaign', conflictsWith: sameCampaign };
    const sameAdvertiser = advertisers.get(campaign.advertiserId);
    if (sameAdvertiser !== undefined) return { rule: 'same_advertiser', conflictsWith: sameAdvertiser };
    for (const group of rules.groups) {
      const earlierOffer = groups.get(group);
      if (earlierOffer !== undefined) return { rule: 'exclusion_group', conflictsWith: earlierOffer, group };
    }
    if (categories.size > 0 && categories.has(plainText(campaign.category)))
      return { rule: 'blocked_by_publisher', by: 'separation', value: campaign.category };
    return null;
  }

  return {
    find,
    add: (candidate) => {
      const { campaign } = candidate.offer;
      campaigns.set(campaign.id, candidate);
      if (onOfferwall) return;
      advertisers.set(campaign.advertiserId, candidate);
      for (const group of candidate.rules.groups) groups.set(group, candidate);
      addCategory(candidate);
    },
  };
}

/** Compiled sequence rules of a placement. */
type Sequence = {
  /**
   * Returns the deny rule that excludes an offer from a position, or null. If the position is null, only rules for all
   * positions are considered.
   */
  deniedBy: (offer: Offer, position: number | null) => SequenceRule | null;
  /** Whether allow rules apply to a position, so that it is reserved for the offers that they match. */
  isReserved: (position: number) => boolean;
  /**
   * Returns the grade of an offer for a reserved position. Grade 0 means that the offer is not allowed; higher grades
   * are preferred.
   */
  grade: (offer: Offer, position: number) => number;
  /** Returns the highest possible grade at a reserved position. */
  topGrade: (position: number) => number;
};

type Compiled = {
  rule: SequenceRule;
  positions: ReadonlySet<number> | null;
  matches: (offer: Offer) => boolean;
  grade: number;
};

const noRules: readonly Compiled[] = [];
const compiledRules = new WeakMap<Publisher, Map<string, readonly Compiled[]>>();

/** Maximum number of placements per publisher for which compiled sequence rules are cached. */
const maxPlacements = 500;

/**
 * Returns the compiled sequence rules of a placement, or null if none exists. Deny rules are checked first. If allow
 * rules apply to a position, only offers that they match may be shown there. Such offers are sorted by how many
 * positions the rule covers (all, several, one), then by the rule's weight, then by the usual ranking
 * (docs/guides/how-a-decision-is-made.md#sequence-rules).
 */
export function sequenceOf(publisher: Publisher, placement: string): Sequence | null {
  const rules = rulesOf(publisher, placement);
  if (rules.length === 0) return null;
  const at = (effect: SequenceRule['effect'], position: number | null): Compiled[] =>
    rules.filter(
      ({ rule, positions }) =>
        rule.effect === effect && (positions === null || (position !== null && positions.has(position))),
    );
  return {
    deniedBy: (offer, position) => at('deny', position).find(({ matches }) => matches(offer))?.rule ?? null,
    isReserved: (position) => at('allow', position).length > 0,
    grade: (offer, position) => at('allow', position).find(({ matches }) => matches(offer))?.grade ?? 0,
    topGrade: (position) => at('allow', position)[0]?.grade ?? 0,
  };
}

function rulesOf(publisher: Publisher, placement: string): readonly Compiled[] {
  if (publisher.sequenceRules.length === 0) return noRules;
  const byPlacement = getOrInsert(compiledRules, publisher, () => new Map<string, readonly Compiled[]>());
  let rules = byPlacement.get(placement);
  if (rules === undefined) {
    rules = publisher.sequenceRules
      .filter((rule) => rule.placement === null || rule.placement === placement)
      .map(compile)
      .sort((a, b) => b.grade - a.grade || a.rule.id - b.rule.id);
    if (byPlacement.size < maxPlacements) byPlacement.set(placement, rules);
  }
  return rules;
}

/**
 * Factor for the breadth of a rule. It is greater than any rule weight, so that breadth takes precedence over weight.
 */
const breadthUnit = 10_000_000;

function compile(rule: SequenceRule): Compiled {
  const { positions, match, weight } = rule;
  const breadth = positions === null ? 3 : positions.length > 1 ? 2 : 1;
  const [offers, campaigns, advertisers] = [
    new Set(match.offers),
    new Set(match.campaigns),
    new Set(match.advertisers),
  ];
  const [categories, tags] = [new Set(match.categories), new Set(match.tags)];
  return {
    rule,
    positions: positions === null ? null : new Set(positions),
    matches: ({ id, campaign }) =>
      offers.has(id) ||
      campaigns.has(campaign.id) ||
      advertisers.has(campaign.advertiserId) ||
      categories.has(campaign.category) ||
      campaign.tags.some((tag) => tags.has(tag)),
    grade: breadth * breadthUnit + weight + 1,
  };
}
