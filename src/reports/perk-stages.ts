import type { Executor } from '../platform/db/pool.ts';

/** Sessions by stage of their perks: at least one perk selected; confirmed; its webhook delivered. */
export type PerkStages = { selected: number; confirmed: number; delivered: number };

/** Sessions of a publisher to count (epoch ms, `untilMs` exclusive). '' stands for an absent country, device or os. */
export type PerkStagesQuery = {
  publisherId: number;
  fromMs: number;
  untilMs: number;
  texts: Readonly<Partial<Record<'placement' | 'country' | 'device' | 'os', readonly string[]>>>;
  /** Counts only sessions that showed one of the campaigns or offers, and only their perks. */
  campaigns: readonly number[] | null;
  offers: readonly number[] | null;
  attribute: { key: string; values: readonly string[] } | null;
};

/** Counts the stages; contributed by one module. */
export type CountPerkStages = (executor: Executor, query: PerkStagesQuery) => Promise<PerkStages>;
