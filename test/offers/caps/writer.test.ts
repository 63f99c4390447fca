import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Snapshot } from '../../../src/catalog/snapshot/types.ts';
import { noPosteriors } from '../../../src/decision/types.ts';
import { createLiveUse, type LiveUse } from '../../../src/offers/caps/live-use.ts';
import { addUse, createUseTable, periodNames } from '../../../src/offers/caps/use.ts';
import { createSurroundings } from '../../../src/offers/context/client-context.ts';
import { createCappedWriter } from '../../../src/offers/fetch/capped-fetch.ts';
import { type Item, themeOf } from '../../../src/offers/fetch/fetch-item.ts';
import { readFetchOffers } from '../../../src/offers/fetch/request.ts';
import type { Model } from '../../../src/offers/model/posteriors.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

const client = { ip: '127.0.0.1', userAgent: '', gpc: false };

/** A fetch by the catalogue that was current when it was read. */
function itemOf(snapshot: Snapshot): Item {
  const publisher = snapshot.publishers.get(t.publisher.id);
  if (publisher === undefined) throw new Error('no publisher');
  const request = readFetchOffers({}, { placement: 'checkout' }, client);
  return {
    snapshot,
    publisher,
    request,
    surroundings: createSurroundings(t.deps.geo)(request),
    theme: themeOf(publisher, request),
    placement: request.placement,
    userKey: null,
    dev: false,
    sessionId: null,
    expired: false,
    wall: null,
    decided: null,
  };
}

const nothingKnown = { id: null, posteriors: noPosteriors };
const quiet = { model: () => nothingKnown, noteState: () => {}, now: Date.now };

test('a batch in which some know a cap and some do not ends, and whoever knows it keeps it', async () => {
  const before = t.deps.catalog.current();
  const [campaign] = before.publishers.get(t.publisher.id)?.index.offers.map((offer) => offer.campaign) ?? [];
  const id = campaign?.id as number;
  const rules = { total_caps: [{ metric: 'impressions', per: 'day', limit: 5 }] };
  await t.pool.query('update campaigns set rules = $2, priority = 0 where id = $1', [id, rules]);
  await t.deps.catalog.refresh();
  const after = t.deps.catalog.current();
  const used = { campaignId: id, publisherId: null, impressions: 100, clicks: 0, micros: 0 };
  const periods = periodNames(after.publishers.get(t.publisher.id)?.timeZone ?? 'UTC', Date.now());
  await addUse(
    t.pool,
    periods.map((period) => ({ ...used, period })),
  );
  // Others are always quicker: what is known of the use is behind at each try.
  const use: LiveUse = { known: async () => createUseTable(), learn: () => {}, refresh: async () => {} };
  const write = createCappedWriter({ pool: t.pool, use, ...quiet });
  const [old, fresh] = await write([itemOf(before), itemOf(after)]);
  expect(fresh?.offers.map((offer) => offer.campaign.id)).not.toContain(id);
  expect(fresh?.offers.length).toBeGreaterThan(0);
  expect(old?.offers.length).toBeGreaterThan(0);
});

test('a state that decisions were made with is kept by its own name, whatever is learned while they are written', async () => {
  let model: Model = { id: 'model before', posteriors: noPosteriors };
  const noted: (string | null)[] = [];
  const noteState = (_snapshot: Snapshot, { id }: Model): void => {
    noted.push(id);
    model = { id: 'model meanwhile', posteriors: noPosteriors };
  };
  const use = createLiveUse(t.deps);
  const write = createCappedWriter({ pool: t.pool, use, model: () => model, noteState, now: Date.now });
  const sessions = await write([itemOf(t.deps.catalog.current()), itemOf(t.deps.catalog.current())]);
  expect(sessions.map(({ inputs }) => JSON.parse(inputs ?? '{}').model)).toEqual(noted);
});
