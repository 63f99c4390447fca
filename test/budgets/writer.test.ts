import { afterAll, beforeAll, expect, test } from 'vitest';
import { noHistory } from '../../src/budgets/caps.ts';
import { createFetchCommits } from '../../src/budgets/commits/commits.ts';
import type { RefusedFetch } from '../../src/budgets/fetches.ts';
import { historyOf, type OpenHistory, readHistories, reserveImpression } from '../../src/budgets/history/history.ts';
import { insertUnlessChanged } from '../../src/budgets/sessions.ts';
import { createSlices } from '../../src/budgets/slices/slices.ts';
import { createLiveUsage, type LiveUsage } from '../../src/budgets/usage/live-usage.ts';
import { addUsage, createUsageTable, noAmounts, periodNames } from '../../src/budgets/usage/usage.ts';
import type { Snapshot } from '../../src/catalog/types.ts';
import { emptyModel, type Model } from '../../src/learning/model.ts';
import { type DecisionSources, decideFetch } from '../../src/offers/fetch/decide-session.ts';
import { createFetchOpener, type PendingFetch } from '../../src/offers/fetch/pending-fetch.ts';
import { readFetchOffers } from '../../src/offers/fetch/request.ts';
import { readDecisionRecord, type SessionRecord } from '../../src/offers/session-record.ts';
import { createUserKeys } from '../../src/platform/security/user-key.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

const client = { ip: '127.0.0.1', userAgent: '', gpc: false };

/** Returns a pending fetch that uses the catalogue that was current when its request was read. */
function pendingBy(snapshot: Snapshot, body: object = {}): PendingFetch {
  const publisher = snapshot.publishers.get(t.publisher.id);
  if (publisher === undefined) throw new Error('no publisher');
  const open = createFetchOpener(
    { ...t.deps, catalog: { ...t.deps.catalog, current: () => snapshot } },
    createUserKeys(t.deps.config.userPepper),
  );
  return open(publisher, readFetchOffers({}, { placement: 'checkout', ...body }, client), { kind: 'unit' });
}

/** Decides and commits fetches with locks. */
async function commitLocked(
  usage: LiveUsage,
  sources: DecisionSources,
  fetches: readonly PendingFetch[],
): Promise<SessionRecord[]> {
  const { pool, catalog, logger } = t.deps;
  const slices = createSlices({ pool, catalog, logger, now: Date.now, usage });
  const commits = createFetchCommits({ pool, usage, slices, eventsStoredUntil: Date.now, now: Date.now });
  const refused = fetches.map((fetch): RefusedFetch<PendingFetch> => ({ fetch, optOuts: null }));
  const decisions = await commits.commitAgain(refused, {
    profiles: null,
    begin: () => {},
    decide: (fetch, stored, nowMs) => decideFetch(sources, fetch, null, stored, nowMs),
  });
  return decisions.map(({ session }) => session);
}

const noSources = { model: { current: () => emptyModel }, states: { note: () => '' } };

test('a batch decided with two catalogues enforces a cap that only the newer one has', async () => {
  const before = t.deps.catalog.current();
  const [campaign] = before.publishers.get(t.publisher.id)?.index.offers.map((offer) => offer.campaign) ?? [];
  const id = campaign?.id as number;
  const rules = { total_caps: [{ metric: 'impressions', per: 'day', limit: 5 }] };
  await t.pool.query('update campaigns set rules = $2, priority = 0 where id = $1', [id, rules]);
  await t.deps.catalog.refresh();
  const after = t.deps.catalog.current();
  const used = { campaignId: id, publisherId: null, ...noAmounts, impressions: 100 };
  const periods = periodNames(after.publishers.get(t.publisher.id)?.timeZone ?? 'UTC', Date.now());
  await addUsage(
    t.pool,
    periods.map((period) => ({ ...used, period })),
  );
  // Usage in memory that is always outdated, as if other processes were always faster.
  const usage: LiveUsage = {
    load: async () => createUsageTable(),
    knownNow: () => null,
    hasAmpleRoom: () => false,
    learn: () => {},
    refresh: async () => {},
  };
  const [old, fresh] = await commitLocked(usage, noSources, [pendingBy(before), pendingBy(after)]);
  expect(fresh?.offers.map((offer) => offer.campaign.id)).not.toContain(id);
  expect(fresh?.offers.length).toBeGreaterThan(0);
  expect(old?.offers.length).toBeGreaterThan(0);
});

test('each decision is stored with its model version, even if the model changes within a batch', async () => {
  let model: Model = { ...emptyModel, version: 1 };
  const noted: number[] = [];
  const note = (): string => {
    noted.push(model.version);
    model = { ...emptyModel, version: 2 };
    return '';
  };
  const sources = { model: { current: () => model }, states: { note } };
  const snapshot = t.deps.catalog.current();
  const sessions = await commitLocked(createLiveUsage(t.deps), sources, [pendingBy(snapshot), pendingBy(snapshot)]);
  expect(sessions.map(({ decision }) => readDecisionRecord(decision).inputs.modelVersion)).toEqual(noted);
});

test('a fetch neither overwrites a history changed since it was read nor recreates a deleted one', async () => {
  const users = ['unchanged', 'written', 'begun', 'deleted'];
  const pendings = users.map((pub_user_id) => pendingBy(t.deps.catalog.current(), { pub_user_id }));
  const keys = new Map(pendings.map(({ userKey }, index) => [users[index] as string, userKey as string]));
  const keyOf = (user: string): string => keys.get(user) as string;
  const nowMs = Date.now();
  const decideFor = async (names: string[]) => {
    const publisherByUser = new Map(names.map((name) => [keyOf(name), t.publisher.id]));
    const { histories } = await readHistories(t.pool, publisherByUser, nowMs, null);
    const sessions = names.map((name) => {
      const fetch = pendings[users.indexOf(name)] as PendingFetch;
      const { session } = decideFetch(noSources, fetch, null, { history: noHistory, totals: new Map() }, nowMs);
      const history = histories.get(keyOf(name)) as OpenHistory;
      reserveImpression(history, session.id, { offerId: 1, campaignId: 1, advertiserId: 1, atMs: nowMs });
      return session;
    });
    return { sessions, write: () => insertUnlessChanged(t.pool, sessions, [...histories.values()], nowMs) };
  };
  expect(await (await decideFor(['unchanged', 'written', 'deleted'])).write()).toEqual(new Set());
  const fetch = await decideFor(users);
  expect(await (await decideFor(['written', 'begun'])).write()).toEqual(new Set());
  await t.pool.query('delete from user_history where user_key = $1', [keyOf('deleted')]);
  expect(await fetch.write()).toEqual(new Set([keyOf('written'), keyOf('begun')]));

  const { rows } = await t.pool.query<{ id: string }>('select id from sessions where id = any($1)', [
    fetch.sessions.map(({ id }) => id),
  ]);
  const written = new Set(rows.map(({ id }) => id));
  expect(fetch.sessions.map(({ id }) => written.has(id))).toEqual([true, false, false, true]);
  const { histories } = await readHistories(t.pool, new Map(users.map((name) => [keyOf(name), 0])), nowMs, null);
  const reserved = users.map((name) => historyOf(histories.get(keyOf(name)) as OpenHistory).exposures.length);
  expect(reserved).toEqual([2, 2, 1, 1]);
});
