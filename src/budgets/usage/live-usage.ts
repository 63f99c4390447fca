import type pg from 'pg';
import type { Snapshot } from '../../catalog/types.ts';
import { type ActiveCaps, activeCapsOf, type LimitedTotal, totalsKey } from '../caps.ts';
import { hasAmpleRoom } from './totals.ts';
import { type CampaignUsage, createUsageTable, loadUsage, periodNames, periodsOf, type UsageTable } from './usage.ts';

/**
 * In-memory usage of campaigns with total caps. It can lag behind other processes by up to a second. Leased slices
 * count as used (`slices.ts`). Decisions based on this usage are checked against the database before they are
 * committed, so the lag never causes a cap to be exceeded.
 */
export type LiveUsage = {
  /** Returns the current usage for the given caps, loading it if necessary. */
  load: (caps: ActiveCaps) => Promise<UsageTable>;
  /** Returns the current usage, or null if it would have to be loaded first. */
  knownNow: (caps: ActiveCaps) => UsageTable | null;
  /** Returns `hasAmpleRoom` for a total whose usage is loaded. The result is remembered until the usage changes. */
  hasAmpleRoom: (total: LimitedTotal, nowMs: number) => boolean;
  learn: (used: readonly CampaignUsage[]) => void;
  /** Loads the usage that other processes have recorded. */
  refresh: () => Promise<void>;
};

type LiveUsageOptions = { pool: pg.Pool; catalog: { current: () => Snapshot }; now: () => number };

export function createLiveUsage({ pool, catalog, now }: LiveUsageOptions): LiveUsage {
  let table = createUsageTable();
  let loaded = new Set<string>();
  /** Results of `hasAmpleRoom`, with what they are based on. */
  const rooms = new Map<string, { total: LimitedTotal; periods: readonly string[]; isAmple: boolean }>();

  async function load(activeCaps: ActiveCaps): Promise<void> {
    const fresh = createUsageTable();
    for (const used of await loadUsage(pool, periodsOf(activeCaps.totals, now()))) fresh.set(used);
    table = fresh;
    rooms.clear();
    loaded = new Set(activeCaps.totals.map(({ key }) => key));
    complete = activeCaps;
  }

  /** Loads the usage of campaign totals that were added to the caps, such as those of a publisher loaded later. */
  async function loadMissing(activeCaps: ActiveCaps): Promise<void> {
    const missing = activeCaps.totals.filter(({ key }) => !loaded.has(key));
    for (const used of await loadUsage(pool, periodsOf(missing, now()))) table.set(used);
    for (const { key } of missing) loaded.add(key);
    rooms.clear();
  }

  /** Active caps whose campaign totals are all in the usage table. Usually those of the latest catalogue. */
  let complete: ActiveCaps | null = null;

  function isComplete(activeCaps: ActiveCaps): boolean {
    if (activeCaps === complete) return true;
    if (activeCaps.totals.some(({ key }) => !loaded.has(key))) return false;
    complete = activeCaps;
    return true;
  }

  return {
    load: async (activeCaps) => {
      if (!isComplete(activeCaps)) await loadMissing(activeCaps);
      return table;
    },
    knownNow: (activeCaps) => (isComplete(activeCaps) ? table : null),
    hasAmpleRoom: (total, nowMs) => {
      const periods = periodNames(total.timeZone, nowMs);
      const room = rooms.get(total.key);
      if (room?.total === total && room.periods === periods) return room.isAmple;
      const isAmple = hasAmpleRoom(table, total, nowMs);
      rooms.set(total.key, { total, periods, isAmple });
      return isAmple;
    },
    learn: (used) => {
      for (const usage of used) {
        table.set(usage);
        rooms.delete(totalsKey(usage.campaignId, usage.publisherId));
      }
    },
    refresh: async () => {
      const activeCaps = activeCapsOf(catalog.current());
      if (activeCaps.totals.length === 0) return;
      await load(activeCaps);
    },
  };
}
