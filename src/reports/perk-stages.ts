import type { Executor } from '../platform/db/pool.ts';

/** Sessions by how far their perks came: at least one perk selected; confirmed; its webhook delivered. */
export type PerkStages = { selected: number; confirmed: number; delivered: number };

/** Of which sessions of a publisher (epoch ms, `untilMs` excluded). '' stands for an absent country, device or os. */
export type PerkStagesQuery = {
  publisherId: number;
  fromMs: number;
  untilMs: number;
  texts: Readonly<Partial<Record<'placement' | 'country' | 'device' | 'os', readonly string[]>>>;
  /** Sessions that showed one of them, and the perks of these alone. */
  campaigns: readonly number[] | null;
  offers: readonly number[] | null;
  attribute: { key: string; values: readonly string[] } | null;
};

/** Counts the stages; a contribution of one module. */
export type CountPerkStages = (executor: Executor, query: PerkStagesQuery) => Promise<PerkStages>;
