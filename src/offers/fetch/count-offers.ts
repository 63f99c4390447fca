import type pg from 'pg';
import { activeCapsOf, noHistory, noTotals, type Totals, type UserHistory } from '../../budgets/caps.ts';
import { historyOf, type OpenHistory, readHistories } from '../../budgets/history.ts';
import type { LiveUsage } from '../../budgets/live-usage.ts';
import type { SliceGrants } from '../../budgets/slice-holdings.ts';
import { totalsAt } from '../../budgets/totals.ts';
import { decide } from '../../decision/decide.ts';
import type { Model } from '../../learning/model.ts';
import type { ModelSource } from '../../learning/source.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { newUuid7, seedOf } from '../../platform/lib/uuid7.ts';
import { joinHistories } from './input-now.ts';
import { contextOf, hasTotalCaps, type PendingFetch } from './pending-fetch.ts';
import { profilesBeside } from './profiles.ts';

export type OfferCounter = {
  /** Number of offers that each fetch of a call would show. Nothing is stored, counted or reserved. */
  count: (call: readonly PendingFetch[]) => Promise<number[]>;
  drain: () => Promise<void>;
};

type CountDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  now: () => number;
  usage: LiveUsage;
  slices: SliceGrants;
  model: ModelSource;
  eventsStoredUntil: () => number;
};

export function createCountOffers(deps: CountDeps): OfferCounter {
  const histories = createHistoryReader(deps);

  async function totalsFor(pending: PendingFetch, nowMs: number): Promise<Totals> {
    if (!hasTotalCaps(pending)) return noTotals;
    const activeCaps = activeCapsOf(pending.snapshot);
    return totalsAt(deps.slices.without(await deps.usage.known(activeCaps)), activeCaps.total, nowMs);
  }

  return {
    count: async (call) => {
      const first = call[0] as PendingFetch;
      const nowMs = deps.now();
      const totals = await totalsFor(first, nowMs);
      const isKnown = (first.userKey !== null && !first.dev) || first.profileKeys.all.length > 0;
      const history = isKnown ? await histories.add(call) : noHistory;
      return countEach(call, { history, totals, model: deps.model.current() }, nowMs);
    },
    drain: histories.drain,
  };
}

type Call = readonly PendingFetch[];

/** Reads histories and profiles of the calls' users, with one query for concurrent calls. */
const createHistoryReader = ({ pool, dbHealth, now, eventsStoredUntil }: CountDeps): Batcher<Call, UserHistory> =>
  createBatcher<Call, UserHistory>({
    write: async (batch) => {
      const users = batch.flatMap((call) => keysOf(call).map((key) => [key, (call[0] as PendingFetch).publisher.id]));
      const beside = profilesBeside(batch.flat(), now());
      const histories = await readHistories(pool, new Map(users as [string, number][]), eventsStoredUntil(), beside);
      return batch.map((call) =>
        joinHistories(keysOf(call).map((key) => historyOf(histories.get(key) as OpenHistory))),
      );
    },
    dbHealth,
  });

/** Keys of the user of a call. Tests have no history. */
const keysOf = ([first]: Call): string[] =>
  first === undefined || first.userKey === null || first.dev ? [] : [first.userKey, ...first.earlierKeys];

/** Decides the fetches in order. Offers of one fetch count as seen for the next ones. */
function countEach(
  call: readonly PendingFetch[],
  usage: { history: UserHistory; totals: Totals; model: Model },
  nowMs: number,
): number[] {
  const { optOuts } = usage.history;
  const exposures = [...usage.history.exposures];
  return call.map((pending) => {
    const { publisher, theme, assigned } = pending;
    if (assigned?.isHeldOut === true) return 0;
    const context = contextOf(pending, nowMs);
    const history = { optOuts, exposures };
    const { offers } = decide({ ...usage, publisher, theme, context, history, seed: seedOf(newUuid7(nowMs)) });
    pending.shownCampaignIds = offers.map(({ offer }) => offer.campaign.id);
    for (const { offer } of offers)
      exposures.push({
        offerId: offer.id,
        campaignId: offer.campaign.id,
        advertiserId: offer.campaign.advertiserId,
        event: 'impression',
        atMs: nowMs,
      });
    return offers.length;
  });
}
