import type pg from 'pg';
import { type CapPeriod, capPeriods, type TotalCap } from '../../catalog/rules/rules.ts';
import type { CatalogStore } from '../../catalog/snapshot/store.ts';
import { totalsKey } from '../../decision/types.ts';
import { type Needs, needsOf } from './needs.ts';
import {
  type Amounts,
  createUseTable,
  type Delta,
  loadUse,
  periodName,
  periodNames,
  sumDeltas,
  type Used,
  type UseTable,
} from './use.ts';

/**
 * What campaigns with total caps have used, in memory: right up to what other processes did in the last second.
 * Decisions
 * are made with it and checked against the store when they are written, so that being a little behind never passes a
 * cap.
 */
export type LiveUse = {
  /** The uses known now, for a catalogue with these needs. */
  known: (needs: Needs) => Promise<UseTable>;
  learn: (used: readonly Used[]) => void;
  /** Reads what other processes have used. */
  refresh: () => Promise<void>;
};

type LiveUseOptions = { pool: pg.Pool; catalog: Pick<CatalogStore, 'current'>; now: () => number };

export function createLiveUse({ pool, catalog, now }: LiveUseOptions): LiveUse {
  let table = createUseTable();
  let loaded = new Set<string>();

  const keyOf = ({ campaignId, publisherId }: { campaignId: number; publisherId: number | null }): string =>
    totalsKey(campaignId, publisherId);

  async function load(needs: Needs): Promise<void> {
    const zones = new Set(needs.totals.map((total) => total.timeZone));
    const fresh = createUseTable();
    for (const used of await loadUse(pool, [...new Set([...zones].flatMap((zone) => periodNames(zone, now())))]))
      fresh.set(used);
    table = fresh;
    loaded = new Set(needs.totals.map(keyOf));
  }

  return {
    known: async (needs) => {
      if (needs.totals.some((total) => !loaded.has(keyOf(total)))) await load(needs);
      return table;
    },
    learn: (used) => {
      for (const each of used) table.set(each);
    },
    refresh: async () => {
      const needs = needsOf(catalog.current());
      if (needs.totals.length === 0) return;
      await load(needs);
    },
  };
}

const fields: Record<TotalCap['metric'], keyof Amounts> = {
  impressions: 'impressions',
  clicks: 'clicks',
  budget: 'micros',
};

/**
 * The totals that were passed because somebody else used them meanwhile: what is used now is beyond a cap, and what was
 * used before is not what the decision took it for.
 * @param assumed the uses the decisions were made with
 */
export function findOverruns(
  needs: Needs,
  deltas: readonly Delta[],
  used: readonly Used[],
  assumed: UseTable,
  atMs: number,
): Set<string> {
  const own = new Map(
    sumDeltas(deltas).map((delta) => [`${totalsKey(delta.campaignId, delta.publisherId)} ${delta.period}`, delta]),
  );
  const overruns = new Set<string>();
  for (const now of used) {
    const key = totalsKey(now.campaignId, now.publisherId);
    const mine = own.get(`${key} ${now.period}`);
    const before = assumed.get(now.campaignId, now.publisherId, now.period);
    for (const cap of needs.total(key)?.caps ?? []) {
      const field = fields[cap.metric];
      if (mine === undefined || mine[field] <= 0 || !isIn(cap.per, now, needs.total(key)?.timeZone ?? 'UTC', atMs))
        continue;
      const limit = cap.metric === 'budget' ? cap.limit * 1_000_000 : cap.limit;
      if (now[field] > limit && now[field] - mine[field] !== before[field]) overruns.add(key);
    }
  }
  return overruns;
}

const isIn = (per: CapPeriod, { period }: Used, timeZone: string, atMs: number): boolean =>
  periodName(per, timeZone, atMs) === period;

/** What is used without one's own changes, for when they are taken back. */
export const withoutOwn = (deltas: readonly Delta[], used: readonly Used[]): Used[] => {
  const own = new Map(
    sumDeltas(deltas).map((delta) => [`${totalsKey(delta.campaignId, delta.publisherId)} ${delta.period}`, delta]),
  );
  return used.map((now) => {
    const mine = own.get(`${totalsKey(now.campaignId, now.publisherId)} ${now.period}`);
    if (mine === undefined) return now;
    return {
      ...now,
      impressions: now.impressions - mine.impressions,
      clicks: now.clicks - mine.clicks,
      micros: now.micros - mine.micros,
    };
  });
};

/** A table in which these totals are used up, whatever they are. */
export function closing(table: UseTable, keys: ReadonlySet<string>, needs: Needs, atMs: number): UseTable {
  const closed = table.fork();
  const all = Number.MAX_SAFE_INTEGER;
  for (const total of needs.totals) {
    if (!keys.has(totalsKey(total.campaignId, total.publisherId))) continue;
    for (const per of capPeriods) {
      const period = periodName(per, total.timeZone, atMs);
      closed.set({
        campaignId: total.campaignId,
        publisherId: total.publisherId,
        period,
        impressions: all,
        clicks: all,
        micros: all,
      });
    }
  }
  return closed;
}
