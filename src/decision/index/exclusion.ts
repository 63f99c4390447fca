import type { CompiledTotalCap } from '../../budgets/types.ts';
import type { FrequencyCap } from '../../catalog/rules.ts';
import type { IndexedKey, Withheld } from '../eligibility.ts';
import type { Candidate } from './compile.ts';

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
