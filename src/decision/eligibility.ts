import type { CompiledTotalCap } from '../budgets/caps.ts';
import type { FrequencyCap, TargetingKey } from '../catalog/rules.ts';
import type { Block, FindBlock, Offer, OfferIndex } from '../catalog/types.ts';
import type { Candidate } from './index/compile.ts';

/**
 * Index of a publisher's offers. Intersecting a few bit sets finds the offers that are eligible for a request.
 * `withheld` contains provisioned offers that are never shown.
 */
export type EligibilityIndex = OfferIndex & {
  /** Candidates in catalogue order: forced priority, priority, campaign weight, campaign, offer weight, offer ID. */
  candidates: readonly Candidate[];
  classes: readonly PriorityClass[];
  all: Bits;
  loyalty: Bits;
  withCreative: Bits;
  offerwall: Bits;
  /** Candidates whose campaigns are hidden from unidentified users, or null if none exists. */
  needsIdentity: Bits | null;
  dimensions: readonly { key: IndexedKey; dimension: Dimension }[];
  /** Audience targeting, or null if no candidate targets audiences. */
  audiences: AudienceIndex | null;
  /**
   * Targeting index by hour of the week, one for each time zone used in schedules. A null `zone` means the user's time
   * zone.
   */
  hours: readonly { zone: string | null; dimension: Dimension }[];
  byCampaign: ReadonlyMap<number, readonly number[]>;
  /** Candidates that are blocked by rules for a single placement, keyed by placement. */
  blockedAt: ReadonlyMap<string, { bits: Bits; blockOf: FindBlock }>;
  withheld: readonly Withheld[];
  /** Publisher's time zone. */
  timeZone: string;
  /** Default language for users whose language is unknown. */
  language: string;
};

/**
 * Range of candidates that have the same priority and ranking mode, from index `from` (inclusive) to `to` (exclusive).
 * If any of them `pays`, they compete by expected revenue, unless their ranking is fixed.
 */
export type PriorityClass = {
  from: number;
  to: number;
  pays: boolean;
  /** Indexes of candidates whose campaigns have goals. */
  goals: readonly number[];
};

export type Withheld = { offer: Offer; exclusion: Withholding };

type Withholding =
  | { rule: 'offer_paused' | 'campaign_paused' | 'provisioning_paused' | 'rules_invalid' }
  | { rule: 'stopped'; what: NonNullable<Offer['stopped']> }
  | ({ rule: 'blocked_by_publisher' } & Block);

export type IndexedKey = Exclude<TargetingKey, 'cities' | 'postal_codes' | 'audiences'>;

/** Rule that prevents an offer from being shown, with details of the case. `reasonOf` returns its description. */
export type Exclusion =
  | Withholding
  | { rule: 'unit_off' | 'percentage' }
  | { rule: 'campaign_id'; campaignId: number }
  | { rule: 'loyalty_not_wanted' | 'loyalty_only' | 'no_creative' | 'not_on_offerwall' | 'no_identity' }
  | { rule: 'targeting'; key: IndexedKey | 'cities' | 'postal_codes'; value: string | null }
  /** `audiences` contains the keys of the user's audiences. */
  | { rule: 'audience'; audiences: readonly string[] }
  | { rule: 'not_started' | 'ended' }
  | { rule: 'hours'; timeZone: string }
  | { rule: 'conditions' }
  | { rule: 'opted_out'; untilMs: number | null }
  | { rule: 'frequency_cap'; cap: FrequencyCap; count: number }
  /** With `cap_reserved`, the cap will have room again once open reservations are released. */
  | { rule: 'total_cap' | 'cap_reserved'; cap: CompiledTotalCap; used: number; reserved: number }
  | { rule: 'pacing'; probability: number }
  | { rule: 'other_placement' | 'held_out' }
  | { rule: 'same_campaign' | 'same_advertiser'; conflictsWith: Candidate }
  | { rule: 'exclusion_group'; conflictsWith: Candidate; group: string }
  | { rule: 'blocked_by_publisher'; by: 'separation' | 'floor'; value: string }
  | { rule: 'sequence_denied'; ruleId: number }
  | { rule: 'sequence_reserved' }
  | { rule: 'positions_filled'; count: number };

/** Set of candidates as a bit set, with one bit per candidate index. */
export type Bits = Uint32Array;

/**
 * Targeting index of all candidates for one request property, such as the country. `byValue` maps each value that
 * occurs in any targeting list to the candidates that accept it. `otherwise` contains the candidates that accept all
 * other values and unknown ones, because they have no `include` list.
 */
export type Dimension = { byValue: ReadonlyMap<string, Bits>; otherwise: Bits };

/**
 * Targeting index of all candidates for audiences. It differs from other indexes because a user may belong to several
 * audiences.
 */
export type AudienceIndex = {
  /** Candidates that include no audience, so that users without audiences may see them. */
  withoutInclude: Bits;
  /** For each audience, the candidates that include it and those that exclude it. */
  byKey: ReadonlyMap<string, { included: Bits; excluded: Bits }>;
};
