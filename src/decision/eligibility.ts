import type { CompiledTotalCap } from '../budgets/types.ts';
import type { FrequencyCap, TargetingKey } from '../catalog/rules.ts';
import type { Offer, OfferIndex, Publisher } from '../catalog/types.ts';
import { minuteOfWeek } from '../platform/lib/time-zone.ts';
import { type Bits, bitsWith, hasBit, intersect, subtract } from './index/bitset.ts';
import type { Candidate } from './index/compile.ts';
import { acceptedBy, type Dimension } from './index/dimension.ts';
import type { DecisionContext } from './types.ts';

/** A publisher's offers, indexed so that a request finds those eligible by intersecting a few sets. */
export type EligibilityIndex = OfferIndex & {
  /** In catalogue order: forced priority, priority, weight of the campaign, campaign, weight of the offer, id. */
  candidates: readonly Candidate[];
  classes: readonly PriorityClass[];
  all: Bits;
  loyalty: Bits;
  withCreative: Bits;
  offerwall: Bits;
  /** Campaigns withheld from unknown users; null: none. */
  needsIdentity: Bits | null;
  dimensions: readonly { key: IndexedKey; dimension: Dimension }[];
  /** Hour of the week, for each time zone that schedules name; `zone` null: the user's. */
  hours: readonly { zone: string | null; dimension: Dimension }[];
  byCampaign: ReadonlyMap<number, readonly number[]>;
  /** Provisioned offers that are never shown. */
  withheld: readonly Withheld[];
  /** The publisher's. */
  timeZone: string;
};

/** Candidates `from` to before `to`, of equal priority. They compete by expected revenue if any of them `pays`. */
export type PriorityClass = { from: number; to: number; pays: boolean };

export type Withheld = {
  offer: Offer;
  rule: 'offer_paused' | 'campaign_paused' | 'provisioning_paused' | 'rules_invalid';
};

export type IndexedKey = Exclude<TargetingKey, 'cities' | 'postal_codes'>;

/** Why an offer is not shown; `reasonOf` says it to people. */
export type Exclusion =
  | { rule: Withheld['rule'] | 'unit_off' | 'percentage' }
  | { rule: 'campaign_id'; campaignId: number }
  | { rule: 'loyalty_not_wanted' | 'loyalty_only' | 'no_creative' | 'not_on_offerwall' | 'no_identity' }
  | { rule: 'targeting'; key: IndexedKey | 'cities' | 'postal_codes'; value: string | null }
  | { rule: 'not_started' | 'ended' }
  | { rule: 'hours'; timeZone: string }
  | { rule: 'conditions' }
  | { rule: 'opted_out'; untilMs: number | null }
  | { rule: 'frequency_cap'; cap: FrequencyCap; count: number }
  | { rule: 'total_cap'; cap: CompiledTotalCap; used: number }
  | { rule: 'pacing'; probability: number }
  | { rule: 'same_campaign' | 'same_advertiser'; shown: Candidate }
  | { rule: 'exclusion_group'; shown: Candidate; group: string }
  | { rule: 'sequence_denied'; ruleId: number }
  | { rule: 'sequence_reserved' }
  | { rule: 'positions_filled'; count: number };

/** The value of an indexed property in a request. */
function requestValue(key: IndexedKey, context: DecisionContext): string | null {
  switch (key) {
    case 'countries':
      return context.geo.country;
    case 'regions':
      return context.geo.region;
    case 'placements':
      return context.placement;
    case 'platforms':
      return context.platform;
    case 'devices':
      return context.device;
    case 'os':
      return context.os;
    default:
      return context.browser;
  }
}

/** The index of a publisher from a snapshot that was built with `buildIndex`. */
export function indexOf({ index }: Pick<Publisher, 'index'>): EligibilityIndex {
  if (!isEligibilityIndex(index)) throw new Error('the snapshot was built with another index');
  return index;
}

const isEligibilityIndex = (index: OfferIndex): index is EligibilityIndex => 'candidates' in index;

/** The user's time zone where it is known, else the publisher's. */
export const userTimeZone = ({ timeZone }: EligibilityIndex, { geo }: DecisionContext): string =>
  geo.timeZone ?? timeZone;

const hourOfWeek = (timeZone: string, nowMs: number): string => String(Math.floor(minuteOfWeek(timeZone, nowMs) / 60));

/** A set that a request's candidates must be in, or with `negated` must not be in, and why the others are excluded. */
type IndexFilter = { bits: Bits; negated: boolean; exclusion: () => Exclusion };

/**
 * The filters that apply to a request, in the order of the rules.
 * @param relaxed dev or test mode: only what the request itself asks for applies
 */
function filtersOf(index: EligibilityIndex, context: DecisionContext, relaxed: boolean): IndexFilter[] {
  const filters: IndexFilter[] = [];
  const only = (bits: Bits, exclusion: () => Exclusion) => filters.push({ bits, negated: false, exclusion });
  const without = (bits: Bits, exclusion: () => Exclusion) => filters.push({ bits, negated: true, exclusion });
  const { campaignId } = context;
  if (campaignId !== null) {
    const bits = bitsWith(index.candidates.length, index.byCampaign.get(campaignId) ?? []);
    only(bits, () => ({ rule: 'campaign_id', campaignId }));
  }
  if (context.loyalty === 'none') without(index.loyalty, () => ({ rule: 'loyalty_not_wanted' }));
  if (context.loyalty === 'only') only(index.loyalty, () => ({ rule: 'loyalty_only' }));
  if (context.onlyWithCreative) only(index.withCreative, () => ({ rule: 'no_creative' }));
  if (context.surface === 'offerwall') only(index.offerwall, () => ({ rule: 'not_on_offerwall' }));
  if (relaxed) return filters;
  if (context.userKey === null && index.needsIdentity !== null)
    without(index.needsIdentity, () => ({ rule: 'no_identity' }));
  for (const { key, dimension } of index.dimensions) {
    const value = requestValue(key, context);
    only(acceptedBy(dimension, value), () => ({ rule: 'targeting', key, value }));
  }
  for (const { zone, dimension } of index.hours) {
    const timeZone = zone ?? userTimeZone(index, context);
    only(acceptedBy(dimension, hourOfWeek(timeZone, context.nowMs)), () => ({ rule: 'hours', timeZone }));
  }
  return filters;
}

/** The candidates that pass all index filters; what remains are the post-filters of each. */
export function passIndexFilters(index: EligibilityIndex, context: DecisionContext, relaxed: boolean): Bits {
  const passing = index.all.slice();
  for (const { bits, negated } of filtersOf(index, context, relaxed)) {
    if (negated) subtract(passing, bits);
    else intersect(passing, bits);
  }
  return passing;
}

/** All index filters that exclude a candidate, in the order of the rules. */
export const indexExclusions = (
  candidate: Candidate,
  index: EligibilityIndex,
  context: DecisionContext,
  relaxed: boolean,
): Exclusion[] =>
  filtersOf(index, context, relaxed)
    .filter(({ bits, negated }) => hasBit(bits, candidate.index) === negated)
    .map(({ exclusion }) => exclusion());

/** For each candidate, the first index filter that excludes it, or null: the same as `passIndexFilters`, one by one. */
export function indexExclusionOf(
  index: EligibilityIndex,
  context: DecisionContext,
  relaxed: boolean,
): (candidate: Candidate) => Exclusion | null {
  const filters = filtersOf(index, context, relaxed);
  return (candidate) =>
    filters.find(({ bits, negated }) => hasBit(bits, candidate.index) === negated)?.exclusion() ?? null;
}
