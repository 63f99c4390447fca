import type { CompiledTotalCap } from '../budgets/caps.ts';
import type { FrequencyCap, TargetingKey } from '../catalog/rules.ts';
import type { Block, FindBlock, Offer, OfferIndex } from '../catalog/types.ts';
import type { Candidate } from './index/compile.ts';

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
  /** null: no candidate targets any. */
  audiences: AudienceIndex | null;
  /** Hour of the week, for each time zone that schedules name; `zone` null: the user's. */
  hours: readonly { zone: string | null; dimension: Dimension }[];
  byCampaign: ReadonlyMap<number, readonly number[]>;
  /** Provisioned offers that are never shown. */
  /** What the rules of placements block there, by placement. */
  blockedAt: ReadonlyMap<string, { bits: Bits; blockOf: FindBlock }>;
  withheld: readonly Withheld[];
  /** The publisher's. */
  timeZone: string;
  /** Of users who say none. */
  language: string;
};

/**
 * Candidates `from` to before `to`, of equal priority, of fixed ranking or not. They compete by expected revenue if any
 * of them `pays`, and none is fixed.
 */
export type PriorityClass = {
  from: number;
  to: number;
  pays: boolean;
  /** The candidates whose campaigns have goals. */
  goals: readonly number[];
};

export type Withheld = { offer: Offer; exclusion: Withholding };

type Withholding =
  | { rule: 'offer_paused' | 'campaign_paused' | 'provisioning_paused' | 'rules_invalid' }
  | { rule: 'stopped'; what: NonNullable<Offer['stopped']> }
  | ({ rule: 'blocked_by_publisher' } & Block);

export type IndexedKey = Exclude<TargetingKey, 'cities' | 'postal_codes' | 'audiences'>;

/** Why an offer is not shown; `reasonOf` says it to people. */
export type Exclusion =
  | Withholding
  | { rule: 'unit_off' | 'percentage' }
  | { rule: 'campaign_id'; campaignId: number }
  | { rule: 'loyalty_not_wanted' | 'loyalty_only' | 'no_creative' | 'not_on_offerwall' | 'no_identity' }
  | { rule: 'targeting'; key: IndexedKey | 'cities' | 'postal_codes'; value: string | null }
  /** `audiences`: keys of those that the user is in. */
  | { rule: 'audience'; audiences: readonly string[] }
  | { rule: 'not_started' | 'ended' }
  | { rule: 'hours'; timeZone: string }
  | { rule: 'conditions' }
  | { rule: 'opted_out'; untilMs: number | null }
  | { rule: 'frequency_cap'; cap: FrequencyCap; count: number }
  /** `cap_reserved`: there is room as soon as what is reserved of it comes back. */
  | { rule: 'total_cap' | 'cap_reserved'; cap: CompiledTotalCap; used: number; reserved: number }
  | { rule: 'pacing'; probability: number }
  | { rule: 'other_placement' | 'held_out' }
  | { rule: 'same_campaign' | 'same_advertiser'; shown: Candidate }
  | { rule: 'exclusion_group'; shown: Candidate; group: string }
  | { rule: 'blocked_by_publisher'; by: 'separation' | 'floor'; value: string }
  | { rule: 'sequence_denied'; ruleId: number }
  | { rule: 'sequence_reserved' }
  | { rule: 'positions_filled'; count: number };

/** A set of candidates: one bit for each, by its index. */
export type Bits = Uint32Array;

/**
 * The targeting of all candidates by one property of a request, such as its country: for each value that any of them
 * names, the candidates that accept it. Every other value, and an unknown one, is accepted by those without `include`.
 */
export type Dimension = { byValue: ReadonlyMap<string, Bits>; otherwise: Bits };

/** The targeting of all candidates by audiences: users may be in several. */
export type AudienceIndex = {
  /** The candidates that include none: users who are in no audience may see them. */
  withoutInclude: Bits;
  /** By key of the audience: the candidates that include it, and those that exclude it. */
  byKey: ReadonlyMap<string, { included: Bits; excluded: Bits }>;
};
