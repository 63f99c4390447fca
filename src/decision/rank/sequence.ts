import type { Offer, Publisher, SequenceRule } from '../../catalog/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';

/** The sequence rules of a placement. */
export type Sequence = {
  /**
   * The deny rule that excludes an offer from a position, or null. Position null: only rules for all positions apply.
   */
  deniedBy: (offer: Offer, position: number | null) => SequenceRule | null;
  /** Whether allow rules apply to a position: it is reserved for the offers they match. */
  isReserved: (position: number) => boolean;
  /** Precedence of an offer at a reserved position: 0 not allowed, else higher first. */
  grade: (offer: Offer, position: number) => number;
  /** The highest grade of a reserved position. */
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

/** Placements whose compiled rules are cached, for each publisher (count). */
const maxPlacements = 500;

/**
 * The sequence rules of a placement; null: it has none. Deny rules come first. Where allow rules apply to a position,
 * only offers they match may be shown there, by the breadth of the rule (all positions, several, one), then its weight,
 * then the usual order (docs/guides/how-a-decision-is-made.md#sequence-rules).
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

/** More than any weight, so that the breadth of a rule comes first. */
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
