import type pg from 'pg';
import type { Snapshot } from '../../catalog/types.ts';
import { type ActiveCaps, activeCapsOf, totalsKey } from '../caps.ts';
import { type CampaignUsage, createUsageTable, loadUsage, periodsOf, type UsageTable } from './usage.ts';

/**
 * The usage of campaigns with total caps, in memory, up to a second behind other processes; slices count as used
 * (`slices.ts`). Decisions are made with it and compared with the database before they are committed, so that its delay
 * never exceeds a cap.
 */
export type LiveUsage = {
  /** The usage known now, for a catalogue with these caps. */
  known: (caps: ActiveCaps) => Promise<UsageTable>;
  /** The same where nothing has to be read first; else null. */
  knownNow: (caps: ActiveCaps) => UsageTable | null;
  learn: (used: readonly CampaignUsage[]) => void;
  /** Reads what other processes used. */
  refresh: () => Promise<void>;
};

type LiveUsageOptions = { pool: pg.Pool; catalog: { current: () => Snapshot }; now: () => number };

export function createLiveUsage({ pool, catalog, now }: LiveUsageOptions): LiveUsage {
  let table = createUsageTable();
  let loaded = new Set<string>();

  const keyOf = ({ campaignId, publisherId }: { campaignId: number; publisherId: number | null }): string =>
    totalsKey(campaignId, publisherId);

  async function load(activeCaps: ActiveCaps): Promise<void> {
    const fresh = createUsageTable();
    for (const used of await loadUsage(pool, periodsOf(activeCaps.totals, now()))) fresh.set(used);
    table = fresh;
    loaded = new Set(activeCaps.totals.map(keyOf));
    complete = activeCaps;
  }

  /** Caps whose totals are all in the table: usually those of the last catalogue. */
  let complete: ActiveCaps | null = null;

  function isComplete(activeCaps: ActiveCaps): boolean {
    if (activeCaps === complete) return true;
    if (activeCaps.totals.some((total) => !loaded.has(keyOf(total)))) return false;
    complete = activeCaps;
    return true;
  }

  return {
    known: async (activeCaps) => {
      if (!isComplete(activeCaps)) await load(activeCaps);
      return table;
    },
    knownNow: (activeCaps) => (isComplete(activeCaps) ? table : null),
    learn: (used) => {
      for (const each of used) table.set(each);
    },
    refresh: async () => {
      const activeCaps = activeCapsOf(catalog.current());
      if (activeCaps.totals.length === 0) return;
      await load(activeCaps);
    },
  };
}
