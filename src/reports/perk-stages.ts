import type { Executor } from '../platform/db/pool.ts';

/**
 * Number of sessions at each stage of the perk funnel: at least one perk was selected, the perks were confirmed, and
 * the webhook was delivered.
 */
export type PerkStages = { selected: number; confirmed: number; delivered: number };

/**
 * Sessions of a publisher to count. Times are in epoch milliseconds; `untilMs` is exclusive. An empty country, device
 * or os stands for a missing value.
 */
export type PerkStagesQuery = {
  publisherId: number;
  fromMs: number;
  untilMs: number;
  texts: Readonly<Partial<Record<'placement' | 'country' | 'device' | 'os', readonly string[]>>>;
  /** Campaigns or offers to count, or null for all. Sessions and perks with other campaigns or offers are ignored. */
  campaigns: readonly number[] | null;
  offers: readonly number[] | null;
  attribute: { key: string; values: readonly string[] } | null;
};

/** Counts sessions by stage of the perk funnel, contributed by a single module. */
export type CountPerkStages = (executor: Executor, query: PerkStagesQuery) => Promise<PerkStages>;
