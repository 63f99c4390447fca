import type { Snapshot } from '../../catalog/types.ts';
import { activeCapsOf, type LimitedFetch, noTotals, planFetch, type Totals, type UserHistory } from '../caps.ts';
import { historyOf, type ProfileQuery, type ProfileRow, readHistories } from '../history/history.ts';
import { loadTrueUsage } from '../slices/rows.ts';
import { totalsAt } from '../usage/totals.ts';
import { createUsageTable, periodsOf } from '../usage/usage.ts';
import type { CommitDeps } from './locked.ts';

/** A user by all keys, the current one first. */
type PreviewedUser = { keys: readonly string[]; publisherId: number };

/** Data for decisions that are not committed. Nothing is locked or reserved. */
export type UsagePreview = {
  /** Combined histories of users, as a fetch would read them after moving them (move-histories.ts), with profiles. */
  histories: (
    users: readonly PreviewedUser[],
    profiles?: ProfileQuery | null,
  ) => Promise<{ histories: UserHistory[]; profileRows: readonly ProfileRow[] | null }>;
  /** Usage of totals that a fetch would be decided with in this process. */
  totals: (fetch: LimitedFetch) => Promise<Totals>;
  /** Stored usage of all totals of a catalogue, without the slices that processes hold. */
  storedTotals: (snapshot: Snapshot) => Promise<Totals>;
};

export function createUsagePreview(deps: CommitDeps): UsagePreview {
  const { pool, usage, slices, eventsStoredUntil, now } = deps;
  return {
    histories: async (users, profiles = null) => {
      const publisherByKey = new Map(users.flatMap(({ keys, publisherId }) => keys.map((key) => [key, publisherId])));
      const { histories, profileRows } = await readHistories(pool, publisherByKey, eventsStoredUntil(), profiles);
      const joined = users.map(({ keys }) =>
        joinHistories(keys.flatMap((key) => histories.get(key) ?? []).map(historyOf)),
      );
      return { histories: joined, profileRows };
    },
    totals: async (fetch) => {
      if (!planFetch(fetch).totals) return noTotals;
      const activeCaps = activeCapsOf(fetch.snapshot);
      return totalsAt(slices.without(await usage.known(activeCaps)), activeCaps.total, now());
    },
    storedTotals: async (snapshot) => {
      const activeCaps = activeCapsOf(snapshot);
      const nowMs = now();
      const table = createUsageTable();
      const periods = periodsOf(activeCaps.totals, nowMs);
      if (periods.length > 0) for (const used of await loadTrueUsage(pool, periods)) table.set(used);
      return totalsAt(table, activeCaps.total, nowMs);
    },
  };
}

/** Combines histories. For the same campaign, earlier entries of the list take precedence. */
const joinHistories = (histories: readonly UserHistory[]): UserHistory => ({
  optOuts: Object.assign({}, ...histories.map(({ optOuts }) => optOuts).toReversed()),
  exposures: histories.flatMap(({ exposures }) => exposures),
});
