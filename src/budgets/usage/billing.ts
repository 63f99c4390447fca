import type { Campaign } from '../../catalog/types.ts';
import type { ActiveCaps, LimitedTotal } from '../caps.ts';
import { type CampaignUsage, limitOf, periodKey, periodName } from './usage.ts';

/** Event with its revenue in millionths of the campaign's currency. The revenue is 0 if the event is not paid. */
export type PaidEvent = { campaign: Campaign; publisherId: number; atMs: number; revenueMicros: number };

/**
 * Budget in one period: the key of its usage row, and the maximum amount that may be booked in that period, in
 * millionths.
 */
type Budget = { key: string; limitMicros: number };

/** Price of an event, in millionths, and the budgets in which it must fit. */
export type Bill = { micros: number; budgets: readonly Budget[] };

/**
 * Returns the price of an event and the budgets to which it is charged. No budgets are listed if the event is not
 * billable.
 */
export function billOf(activeCaps: ActiveCaps, { campaign, publisherId, atMs, revenueMicros }: PaidEvent): Bill {
  const totals = revenueMicros > 0 ? activeCaps.totalsOf(campaign, publisherId) : [];
  return { micros: revenueMicros, budgets: totals.flatMap((total) => budgetsOf(total, atMs)) };
}

const budgetsOf = (total: LimitedTotal, atMs: number): Budget[] =>
  total.caps
    .filter(({ metric, limit }) => metric === 'budget' && Number.isFinite(limit)) // rules may be written by hand
    .map((cap) => ({
      key: `${total.key} ${periodName(cap.per, total.timeZone, atMs)}`,
      limitMicros: Math.floor((Math.round(limitOf(cap)) * (100 + total.overspendPercent)) / 100),
    }));

/**
 * Decides, one event after another, which events are booked. An event is booked only if its full price fits into the
 * remainder of each of its budgets. Pure function.
 * @param spentOf returns the amount already booked for a budget key
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
 * Computes the amounts booked before the given bills.
 * @param after usage that includes the bills that were assumed to fit
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
