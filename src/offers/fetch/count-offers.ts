import { noHistory, type UserHistory } from '../../budgets/caps.ts';
import type { StoredUsage } from '../../budgets/fetches.ts';
import type { Budgets } from '../../budgets/module.ts';
import { decide } from '../../decision/decide.ts';
import type { Model } from '../../learning/model.ts';
import type { ModelSource } from '../../learning/source.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { newUuid7, seedOf } from '../../platform/lib/uuid7.ts';
import { contextOf, noteShown, type PendingFetch, requestWith, type UserProfile } from './pending-fetch.ts';
import { createFindProfile, profilesOfBatch } from './profiles.ts';

export type OfferCounter = {
  /** Returns the number of offers that each fetch of a call would show. Nothing is stored, counted or reserved. */
  count: (call: readonly PendingFetch[]) => Promise<number[]>;
  drain: () => Promise<void>;
};

type CountDeps = {
  dbHealth: DatabaseHealth;
  now: () => number;
  preview: Budgets['preview'];
  model: ModelSource;
};

export function createCountOffers(deps: CountDeps): OfferCounter {
  const users = createUserReader(deps);
  return {
    count: async (call) => {
      const first = call[0] as PendingFetch;
      const nowMs = deps.now();
      const totals = await deps.preview.totals(first);
      const isKnown = (first.userKey !== null && !first.dev) || first.profileKeys.all.length > 0;
      const { history, profile } = isKnown ? await users.add(call) : unknownUser;
      return countEach(call, profile, { history, totals, model: deps.model.current() }, nowMs);
    },
    drain: users.drain,
  };
}

type Call = readonly PendingFetch[];
type KnownUser = { history: UserHistory; profile: UserProfile | null };

const unknownUser: KnownUser = { history: noHistory, profile: null };

/** Creates a batcher that reads the histories and profiles of users. Concurrent calls share one query. */
const createUserReader = ({ preview, dbHealth, now }: CountDeps): Batcher<Call, KnownUser> =>
  createBatcher<Call, KnownUser>({
    write: async (batch) => {
      const fetches = batch.map(([first]) => first as PendingFetch);
      const query = profilesOfBatch(fetches, now());
      const users = fetches.map((first) => ({ keys: keysOf(first), publisherId: first.publisher.id }));
      const { histories, profileRows } = await preview.histories(users, query);
      const profileOf = query === null || profileRows === null ? null : createFindProfile(profileRows, query.nowMs);
      return fetches.map((first, index) => ({
        history: histories[index] ?? noHistory,
        profile: profileOf === null ? null : profileOf(first),
      }));
    },
    dbHealth,
  });

/** Returns the user keys for which to read a fetch's history. Empty for dev fetches, which have no history. */
const keysOf = ({ userKey, dev, earlierKeys }: PendingFetch): string[] =>
  userKey === null || dev ? [] : [userKey, ...earlierKeys];

/** Decides the fetches in order. Offers shown by one fetch count as already seen in the fetches that follow. */
function countEach(
  call: Call,
  profile: UserProfile | null,
  usage: StoredUsage & { model: Model },
  nowMs: number,
): number[] {
  const { optOuts } = usage.history;
  const exposures = [...usage.history.exposures];
  return call.map((fetch) => {
    const { publisher, theme, assigned } = fetch;
    if (assigned?.isHeldOut === true) return 0;
    const context = contextOf(fetch, requestWith(fetch, profile), profile, nowMs);
    const history = { optOuts, exposures };
    const { offers } = decide({ ...usage, publisher, theme, context, history, seed: seedOf(newUuid7(nowMs)) });
    noteShown(fetch, offers);
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
