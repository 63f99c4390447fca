import type { TargetingKey } from '../catalog/rules.ts';
import type { Offer, OfferIndex, Publisher } from '../catalog/types.ts';
import type { Bits } from './index/bitset.ts';
import type { Candidate } from './index/compile.ts';
import type { Dimension } from './index/dimension.ts';
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

/** The value of an indexed property in a request. */
export function requestValue(key: IndexedKey, context: DecisionContext): string | null {
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
