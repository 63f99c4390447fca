import type { CapPeriod, TotalCap } from '../../catalog/rules.ts';
import { type CapUsage, isHeld, type LimitedTotal, type Totals } from '../caps.ts';
import { type Amounts, capPeriod, fieldOf, goalUsageOf, type UsageReader } from './usage.ts';

/**
 * Totals that are computed when a decision asks for them; afterwards the map has those that were asked for.
 * @param findTotal total by `totalsKey`
 */
export function totalsAt(
  table: UsageReader,
  findTotal: (key: string) => LimitedTotal | undefined,
  atMs: number,
): Totals {
  const asked = new Map<string, CapUsage>();
  const { get } = asked;
  return Object.assign(asked, {
    get: (key: string): CapUsage | undefined => {
      const known = get.call(asked, key) as CapUsage | undefined;
      const total = known === undefined ? findTotal(key) : undefined;
      if (total === undefined) return known;
      const usage = capUsageOf(table, total, atMs);
      asked.set(key, usage);
      return usage;
    },
  });
}

/** What is used of the caps of a total in their current periods; of a lifetime, today too, by which it is paced. */
function capUsageOf(table: UsageReader, total: LimitedTotal, atMs: number): CapUsage {
  const { campaignId, publisherId, timeZone, caps } = total;
  const usage: CapUsage = {};
  if (total.goal !== null) usage.goal = goalUsageOf(table, total, total.goal);
  const note = ({ metric }: TotalCap, per: CapPeriod): void => {
    const amounts = table.get(campaignId, publisherId, capPeriod({ metric, per }, timeZone, atMs));
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

/** What of an amount is only held. */
const heldOf = (metric: 'impressions' | 'budget', used: Amounts): number =>
  metric === 'budget' ? used.micros - used.spentMicros : used.impressions - used.countedImpressions;
