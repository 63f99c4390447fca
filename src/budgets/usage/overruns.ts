import { capPeriods, type TotalCap } from '../../catalog/rules.ts';
import { type ActiveCaps, totalsKey } from '../caps.ts';
import {
  addAmounts,
  allAmounts,
  type CampaignUsage,
  capPeriod,
  fieldOf,
  limitOf,
  periodKey,
  periodName,
  sumDeltas,
  type UsageDelta,
  type UsageTable,
} from './usage.ts';

/**
 * Finds campaign totals that were exceeded because other processes used them in the meantime: the usage now exceeds a
 * cap, and the usage that the decisions assumed was out of date.
 * @param assumed usage that the decisions were based on
 * @param isHeld whether this process has leased a slice of a total; the decisions treated the slice as unused
 */
export function findOverruns(
  activeCaps: ActiveCaps,
  deltas: readonly UsageDelta[],
  used: readonly CampaignUsage[],
  assumed: UsageTable,
  atMs: number,
  isHeld: (key: string) => boolean,
): Set<string> {
  const own = byPeriod(deltas);
  const overruns = new Set<string>();
  for (const now of used) {
    const key = totalsKey(now.campaignId, now.publisherId);
    const mine = own.get(periodKey(now));
    const before = assumed.get(key, now.period);
    for (const cap of activeCaps.total(key)?.caps ?? []) {
      const field = fieldOf(cap.metric);
      if (mine === undefined || mine[field] <= 0 || !isIn(cap, now, activeCaps.total(key)?.timeZone ?? 'UTC', atMs))
        continue;
      if (now[field] > limitOf(cap) && (now[field] - mine[field] !== before[field] || isHeld(key))) overruns.add(key);
    }
  }
  return overruns;
}

const byPeriod = (deltas: readonly UsageDelta[]): Map<string, UsageDelta> =>
  new Map(sumDeltas(deltas).map((delta) => [periodKey(delta), delta]));

const isIn = (cap: TotalCap, { period }: CampaignUsage, timeZone: string, atMs: number): boolean =>
  capPeriod(cap, timeZone, atMs) === period;

/** Returns the usage without this process's own changes, which have been rolled back. */
export const withoutOwnDeltas = (deltas: readonly UsageDelta[], used: readonly CampaignUsage[]): CampaignUsage[] => {
  const own = byPeriod(deltas);
  return used.map((now) => {
    const mine = own.get(periodKey(now));
    if (mine === undefined) return now;
    return { ...now, ...addAmounts(now, mine, -1) };
  });
};

/** Returns a copy of a usage table in which the given campaign totals are exhausted. */
export function withExhausted(
  table: UsageTable,
  keys: ReadonlySet<string>,
  activeCaps: ActiveCaps,
  atMs: number,
): UsageTable {
  const closed = table.fork();
  const all = allAmounts(Number.MAX_SAFE_INTEGER);
  for (const total of activeCaps.totals) {
    if (!keys.has(total.key)) continue;
    for (const per of capPeriods) {
      const period = periodName(per, total.timeZone, atMs);
      closed.set({
        campaignId: total.campaignId,
        publisherId: total.publisherId,
        period,
        ...all,
      });
    }
  }
  return closed;
}
