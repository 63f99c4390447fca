import type { Publisher, Snapshot } from '../../catalog/types.ts';
import { activeCapsOf, type LimitedFetch, noTotals, planFetch, type Totals, type UserHistory } from '../caps.ts';
import { historyOf, type ProfileQuery, type ProfileRow, readHistories } from '../history/history.ts';
import { loadTrueUsage } from '../slices/rows.ts';
import { totalsAt } from '../usage/totals.ts';
import { createUsageTable, periodsOf } from '../usage/usage.ts';
import type { CommitDeps } from './locked.ts';

/** User with the current key and all earlier keys, current key first. */
type PreviewedUser = { keys: readonly string[]; publisherId: number };

/** Reads usage data for decisions that are not committed. It does not lock or reserve anything. */
export type UsagePreview = {
  /**
   * Returns the merged history of each user, with profiles, as a fetch would read it after the history was moved to the
   * current key (move-histories.ts).
   */
  histories: (
    users: readonly PreviewedUser[],
    profiles?: ProfileQuery | null,
  ) => Promise<{ histories: UserHistory[]; profileRows: readonly ProfileRow[] | null }>;
  /** Returns the campaign totals that this process would use to decide the fetch. */
  totals: (fetch: LimitedFetch) => Promise<Totals>;
  /** Returns the stored usage of the campaign totals of a publisher, excluding slices that are currently leased. */
  storedTotals: (snapshot: Snapshot, publisher: Publisher) => Promise<Totals>;
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
      return totalsAt(slices.without(await usage.load(activeCaps)), activeCaps.total, now());
    },
    storedTotals: async (snapshot, { id, index }) => {
      const activeCaps = activeCapsOf(snapshot);
      const nowMs = now();
      const table = createUsageTable();
      const campaigns = new Set(index.offers.map(({ campaign }) => campaign));
      const totals = [...campaigns].flatMap((campaign) => activeCaps.totalsOf(campaign, id));
      const campaignIds = totals.map(({ campaignId }) => campaignId);
      if (totals.length > 0)
        for (const used of await loadTrueUsage(pool, periodsOf(totals, nowMs), campaignIds)) table.set(used);
      return totalsAt(table, activeCaps.total, nowMs);
    },
  };
}

/** Merges histories. If several contain an opt-out from the same campaign, the first one takes precedence. */
const joinHistories = (histories: readonly UserHistory[]): UserHistory => ({
  optOuts: Object.assign({}, ...histories.map(({ optOuts }) => optOuts).toReversed()),
  exposures: histories.flatMap(({ exposures }) => exposures),
});
