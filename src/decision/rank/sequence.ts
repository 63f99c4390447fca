import type { Offer, Publisher, SequenceRule } from '../../catalog/snapshot/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';

/** Which offers may stand where, at one placement. */
export type Sequence = {
  /** The deny rule that keeps an offer from a position, or null. */
  deniedBy: (offer: Offer, position: number) => SequenceRule | null;
  /** Whether a position is reserved for offers that an allow rule names. */
  isReserved: (position: number) => boolean;
  /** How much an offer is wanted at a reserved position: 0 not at all, else higher first. */
  grade: (offer: Offer, position: number) => number;
  /** The grade that none can beat. */
  topGrade: (position: number) => number;
};

type Compiled = {
  rule: SequenceRule;
  positions: ReadonlySet<number> | null;
  matches: (offer: Offer) => boolean;
  grade: number;
};

const noRules: readonly Compiled[] = [];
const known = new WeakMap<Publisher, Map<string, readonly Compiled[]>>();

/** Placements whose rules are kept ready, for each publisher. */
const maxPlacements = 500;

/**
 * The sequence rules of a placement. Deny comes first. Where allow rules hold for a position, only offers that one of
 * them
 * names may stand there: those of rules for all positions first, then of rules for several, then for this one alone;
 * among
 * equals the higher weight, then the usual order.
 */
export function sequenceOf(publisher: Publisher, placement: string): Sequence | null {
  const rules = rulesOf(publisher, placement);
  if (rules.length === 0) return null;
  const at = (effect: SequenceRule['effect'], position: number): Compiled[] =>
    rules.filter(({ rule, positions }) => rule.effect === effect && (positions === null || positions.has(position)));
  return {
    deniedBy: (offer, position) => at('deny', position).find(({ matches }) => matches(offer))?.rule ?? null,
    isReserved: (position) => at('allow', position).length > 0,
    grade: (offer, position) => at('allow', position).find(({ matches }) => matches(offer))?.grade ?? 0,
    topGrade: (position) => at('allow', position)[0]?.grade ?? 0,
  };
}

function rulesOf(publisher: Publisher, placement: string): readonly Compiled[] {
  if (publisher.sequenceRules.length === 0) return noRules;
  const byPlacement = getOrInsert(known, publisher, () => new Map<string, readonly Compiled[]>());
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

/** Heavier than any weight, so that the breadth of a rule comes first. */
const level = 10_000_000;

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
    grade: breadth * level + weight + 1,
  };
}
