import type { Executor } from '../platform/db/pool.ts';
import { attributesOf } from './rollup/events.ts';
import { namedValue } from './rollup/statement.ts';

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

/**
 * SQL for the stages of the perk funnel. The funnel and the list of its sessions use the same conditions, so that the
 * list adds up. `t` is the row in `usp_sessions`, and `s` its session.
 */
export const perkStageSql = {
  isConfirmed: 't.wrapped_at is not null',
  isDelivered: `(t.wrapped_at is not null and exists (
    select from deliveries d
    where d.session_id = t.session_id and d.day between t.day and t.day + 2
      and d.event = 'usp.selection' and d.status = 'delivered'
  ))`,
  /**
   * Whether the user selected a perk that the session showed.
   * @param conditions SQL for the IDs `campaign` and `offer` of the perk
   */
  isSelected: (conditions: readonly string[]): string => `exists (
    select from unnest(s.offer_ids, s.campaign_ids) as shown (offer, campaign)
    where ${['campaign = any(t.selected)', ...conditions].join(' and ')}
  )`,
  /** Reported value of a custom attribute. `key` is SQL. */
  attribute: (key: string): string => namedValue(`(${attributesOf('s')} ->> ${key})`),
};
