import type { CapPeriod, TotalCap } from '../../catalog/rules.ts';
import { type CapUsage, isHeld, type LimitedTotal, type Totals } from '../caps.ts';
import { type Amounts, capPeriod, fieldOf, goalUsageOf, limitOf, type UsageReader } from './usage.ts';

/**
 * Returns the campaign totals as a lazy map, which computes each total on first access. Iterating over the map yields
 * only totals that have been read.
 * @param findTotal returns the total for a `totalsKey`
 * @param isIrrelevant whether the usage of a total cannot affect the decision, so that it is left out
 */
export function totalsAt(
  table: UsageReader,
  findTotal: (key: string) => LimitedTotal | undefined,
  atMs: number,
  isIrrelevant: (total: LimitedTotal) => boolean = () => false,
): Totals {
  const usageByKey = new Map<string, CapUsage>();
  const { get } = usageByKey;
  return Object.assign(usageByKey, {
    get: (key: string): CapUsage | undefined => {
      const cachedUsage = get.call(usageByKey, key) as CapUsage | undefined;
      const total = cachedUsage === undefined ? findTotal(key) : undefined;
      if (total === undefined || isIrrelevant(total)) return cachedUsage;
      const usage = capUsageOf(table, total, atMs);
      usageByKey.set(key, usage);
      return usage;
    },
  });
}

/**
 * Computes the cap usage of a campaign total in the current periods. For lifetime caps, it also includes the usage of
 * the current day, because pacing needs it.
 */
function capUsageOf(table: UsageReader, total: LimitedTotal, atMs: number): CapUsage {
  const { key, timeZone, caps } = total;
  const usage: CapUsage = {};
  if (total.goal !== null) usage.goal = goalUsageOf(table, total, total.goal);
  const note = ({ metric }: TotalCap, per: CapPeriod): void => {
    const amounts = table.get(key, capPeriod({ metric, per }, timeZone, atMs));
    usage[metric] ??= {};
    usage[metric][per] = amounts[fieldOf(metric)];
    if (!isHeld(metric) || heldOf(metric, amounts) <= 0) return;
    usage.reserved ??= {};
    usage.reserved[metric] ??= {};
    usage.reserved[metric][per] = heldOf(metric, amounts);
  };
  for (const cap of caps) {
    note(cap, cap.per);
    if (cap.per === 'lifetime') note(cap, 'day');
  }
  return usage;
}

/** Returns the part of the usage that is reserved but not yet spent. */
const heldOf = (metric: 'impressions' | 'budget', used: Amounts): number =>
  metric === 'budget' ? used.micros - used.spentMicros : used.impressions - used.countedImpressions;

/**
 * Whether a decision does not depend on the usage of a campaign total: the next event fits below all caps, even if the
 * usage includes leased slices, and the campaign has neither pacing nor a goal.
 */
export const hasAmpleRoom = (table: UsageReader, total: LimitedTotal, atMs: number): boolean =>
  !total.isPaced &&
  total.goal === null &&
  total.caps.every((cap) => {
    const used = table.get(total.key, capPeriod(cap, total.timeZone, atMs))[fieldOf(cap.metric)];
    return used + (cap.metric === 'budget' ? total.highestCostMicros : 1) <= limitOf(cap);
  });
