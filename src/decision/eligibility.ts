import type { CompiledTotalCap } from '../budgets/caps.ts';
import type { FrequencyCap, TargetingKey } from '../catalog/rules.ts';
import type { Block, FindBlock, Offer, OfferIndex } from '../catalog/types.ts';
import type { Candidate } from './index/compile.ts';

/** A publisher's offers, indexed so that the eligible offers of a request are found by intersecting a few sets. */
export type EligibilityIndex = OfferIndex & {
  /**
   * Candidates in catalogue order: forced priority, priority, weight of the campaign, campaign, weight of the offer,
   * id.
   */
  candidates: readonly Candidate[];
  classes: readonly PriorityClass[];
  all: Bits;
  loyalty: Bits;
  withCreative: Bits;
  offerwall: Bits;
  /** Campaigns withheld from unknown users; null if there are none. */
  needsIdentity: Bits | null;
  dimensions: readonly { key: IndexedKey; dimension: Dimension }[];
  /** Null if no candidate targets audiences. */
  audiences: AudienceIndex | null;
  /** Hour of the week for each time zone in schedules; `zone` null is the user's. */
  hours: readonly { zone: string | null; dimension: Dimension }[];
  byCampaign: ReadonlyMap<number, readonly number[]>;
  /** Provisioned offers that are never shown are in `withheld`. */
  /** Candidates blocked by the rules of a placement, by placement. */
  blockedAt: ReadonlyMap<string, { bits: Bits; blockOf: FindBlock }>;
  withheld: readonly Withheld[];
  /** Time zone of the publisher. */
  timeZone: string;
  /** Language of users whose language is unknown. */
  language: string;
};

/**
 * Candidates from `from` to before `to`, with equal priority, and all with or without fixed ranking. They compete by
 * expected revenue if any of them `pays` and they are not fixed.
 */
export type PriorityClass = {
  from: number;
  to: number;
  pays: boolean;
  /** Candidates whose campaigns have goals. */
  goals: readonly number[];
};

export type Withheld = { offer: Offer; exclusion: Withholding };

type Withholding =
  | { rule: 'offer_paused' | 'campaign_paused' | 'provisioning_paused' | 'rules_invalid' }
  | { rule: 'stopped'; what: NonNullable<Offer['stopped']> }
  | ({ rule: 'blocked_by_publisher' } & Block);

export type IndexedKey = Exclude<TargetingKey, 'cities' | 'postal_codes' | 'audiences'>;

/** Reason why an offer is not shown; `reasonOf` describes it. */
export type Exclusion =
  | Withholding
  | { rule: 'unit_off' | 'percentage' }
  | { rule: 'campaign_id'; campaignId: number }
  | { rule: 'loyalty_not_wanted' | 'loyalty_only' | 'no_creative' | 'not_on_offerwall' | 'no_identity' }
  | { rule: 'targeting'; key: IndexedKey | 'cities' | 'postal_codes'; value: string | null }
  /** `audiences` are the keys of the user's audiences. */
  | { rule: 'audience'; audiences: readonly string[] }
  | { rule: 'not_started' | 'ended' }
  | { rule: 'hours'; timeZone: string }
  | { rule: 'conditions' }
  | { rule: 'opted_out'; untilMs: number | null }
  | { rule: 'frequency_cap'; cap: FrequencyCap; count: number }
  /** `cap_reserved` means that there will be room when reservations are released. */
  | { rule: 'total_cap' | 'cap_reserved'; cap: CompiledTotalCap; used: number; reserved: number }
  | { rule: 'pacing'; probability: number }
  | { rule: 'other_placement' | 'held_out' }
  | { rule: 'same_campaign' | 'same_advertiser'; conflictsWith: Candidate }
  | { rule: 'exclusion_group'; conflictsWith: Candidate; group: string }
  | { rule: 'blocked_by_publisher'; by: 'separation' | 'floor'; value: string }
  | { rule: 'sequence_denied'; ruleId: number }
  | { rule: 'sequence_reserved' }
  | { rule: 'positions_filled'; count: number };

/** A set of candidates with one bit for each, by index. */
export type Bits = Uint32Array;

/**
 * Targeting of all candidates by one property of a request, such as its country: for each value in any list, the
 * candidates that accept it. All other values, and unknown ones, are accepted by candidates without `include`.
 */
export type Dimension = { byValue: ReadonlyMap<string, Bits>; otherwise: Bits };

/** Targeting of all candidates by audiences. Users may belong to several. */
export type AudienceIndex = {
  /** Candidates without included audiences, which users without audiences may see. */
  withoutInclude: Bits;
  /** Candidates that include or exclude an audience, by its key. */
  byKey: ReadonlyMap<string, { included: Bits; excluded: Bits }>;
};
