import type { Campaign } from '../../catalog/types.ts';
import { type ActiveCaps, type LimitedTotal, totalsKey } from '../caps.ts';
import { type CampaignUsage, limitOf, periodKey, periodName } from './usage.ts';

/** An event, and what it pays in the currency of its campaign (millionths); 0: nothing. */
export type PaidEvent = { campaign: Campaign; publisherId: number; atMs: number; revenueMicros: number };

/** A budget in one of its periods: the key of its row of usage, and what may be booked there (millionths). */
type Budget = { key: string; limitMicros: number };

/** What an event pays (millionths), and the budgets it must fit into. */
export type Bill = { micros: number; budgets: readonly Budget[] };

/** The bill of an event; without budgets where it pays nothing. */
export function billOf(activeCaps: ActiveCaps, { campaign, publisherId, atMs, revenueMicros }: PaidEvent): Bill {
  const totals = revenueMicros > 0 ? activeCaps.totalsOf(campaign, publisherId) : [];
  return { micros: revenueMicros, budgets: totals.flatMap((total) => budgetsOf(total, atMs)) };
}

const budgetsOf = (total: LimitedTotal, atMs: number): Budget[] =>
  total.caps
    .filter(({ metric, limit }) => metric === 'budget' && Number.isFinite(limit)) // rules may be written by hand
    .map((cap) => ({
      key: `${totalsKey(total.campaignId, total.publisherId)} ${periodName(cap.per, total.timeZone, atMs)}`,
      limitMicros: Math.floor((Math.round(limitOf(cap)) * (100 + total.overspendPercent)) / 100),
    }));

/**
 * Which events are booked, one after the other: those that fit whole into what each of their budgets has left. Pure.
 * @param spentOf what was booked before, by the key of a budget
 */
export function fitBills(bills: readonly Bill[], spentOf: (key: string) => number): boolean[] {
  const spent = new Map<string, number>();
  const spentOn = (key: string): number => spent.get(key) ?? spentOf(key);
  return bills.map(({ micros, budgets }) => {
    const fits = budgets.every(({ key, limitMicros }) => spentOn(key) + micros <= limitMicros);
    if (fits) for (const { key } of budgets) spent.set(key, spentOn(key) + micros);
    return fits;
  });
}

/**
 * What was booked before these bills.
 * @param after the usage with those of them that were assumed to fit
 */
export function spentBefore(
  after: readonly CampaignUsage[],
  bills: readonly Bill[],
  assumed: readonly boolean[],
): (key: string) => number {
  const spent = new Map(after.map((used) => [periodKey(used), used.spentMicros]));
  for (const [index, { micros, budgets }] of bills.entries()) {
    if (assumed[index] !== true) continue;
    for (const { key } of budgets) spent.set(key, (spent.get(key) ?? 0) - micros);
  }
  return (key) => spent.get(key) ?? 0;
}
