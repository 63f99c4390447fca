import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { transaction } from '../../src/platform/db/pool.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { enqueue } from '../../src/webhooks/outbox.ts';
import { addPublisher, type SaveableOffer, save, showOneTo } from '../perks/wallet/support.ts';
import { addPostbackEndpoint, clickOffer, createTimedApp, track } from '../tracking/conversions/support.ts';
import { call, fetchOffers } from '../tracking/journey.ts';
import { askExport, erase } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeAll(async () => {
  t = await createTimedApp();
  await t.pool.query("update offers set title = 'For {{first_name}}'");
  await t.deps.catalog.refresh();
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
});
afterAll(() => t.close());

test('an export contains all stored data of a user and no data of others', async () => {
  const click = await clickOffer(t, { pub_user_id: 'reader', ad_fp: 'reading-lamp', order: 'o-9', first_name: 'Ada' });
  await call(t, click.beacons.no_thanks_click);
  await save(t, click);
  await track(t, { click_id: click.clickId, payout: '4.5', currency: 'USD', txn_id: 'n-9' });
  const nameless = await fetchOffers(t, { ad_fp: 'reading-lamp' });
  await fetchOffers(t, { pub_user_id: 'another-user' });
  const answer = await askExport(t, { pub_user_id: 'reader' });
  expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
  const { data } = answer.json();
  expect(data).toMatchObject({
    complete: true,
    sessions: [
      { session_id: click.sessionId, pub_user_id: 'reader', placement: 'checkout', custom: { order: 'o-9' } },
      { session_id: nameless.sessionId, pub_user_id: null },
    ],
    conversions: [{ event: 'conversion', txn_id: 'n-9', payout_micros: '4500000', currency: 'USD' }],
    saved_offers: [{ offer_id: click.id, macros: { first_name: 'Ada' } }],
    history: [{ entry: { opt_outs: { [click.campaign_id]: null } } }],
    webhooks: [{ event: 'conversion', payload: { pub_user_id: 'reader', payload: { order: 'o-9' } } }],
  });
  expect(data.events.map(({ kind }: { kind: string }) => kind).toSorted()).toEqual([
    'click',
    'impression',
    'no_thanks',
    'save',
  ]);
  expect(answer.body).not.toContain('another-user');
  const byDevice = (await askExport(t, { ad_fp: 'reading-lamp' })).json().data;
  expect(byDevice.sessions).toHaveLength(2);
  expect(byDevice.saved_offers).toHaveLength(1);
});

/**
 * Copies an existing session to the given IDs, with earlier times, and adds an event of each given kind to each copy.
 */
async function repeat({ sessionId, id, campaign_id: campaignId }: SaveableOffer, ids: string[], kinds: string[]) {
  await t.pool.query(
    `insert into sessions (day, id, publisher_id, placement, pub_user_id, user_key, offer_ids, campaign_ids, dev, usp,
      usp_check_all, created_at)
    select day, given.id, publisher_id, placement, pub_user_id, user_key, offer_ids, campaign_ids, dev, usp,
      usp_check_all, created_at
    from sessions s, unnest($2::uuid[]) given (id) where s.id = $1`,
    [sessionId, ids],
  );
  await t.pool.query(
    `insert into events (day, session_id, publisher_id, offer_id, campaign_id, kind, position, at)
    select s.day, given.id, s.publisher_id, $3, $4, kind, 1, s.created_at
    from sessions s, unnest($2::uuid[]) given (id), unnest($5::text[]) kind where s.id = $1`,
    [sessionId, ids, id, campaignId, kinds],
  );
}

test('an export contains all of 50,000 events, and all webhooks and outcomes', async () => {
  const offer = await showOneTo(t, 'for years');
  const ids = Array.from({ length: 2500 }, (_, at) => newUuid7(t.clock.ms - at));
  const kinds = Array.from({ length: 20 }, (_, at) => `own:kind_${at}`);
  await repeat(offer, ids, kinds);
  const delivery = { publisherId: t.publisher.id, event: 'conversion', payload: () => Buffer.from('{}'), dev: false };
  const namedDeliveries = [...ids, null].map((sessionId) => ({ sessionId, pubUserId: 'for years' }));
  const unnamed = ids.map((sessionId) => ({ sessionId, pubUserId: null }));
  const deliveries = [...namedDeliveries, ...unnamed].map((of) => ({ ...delivery, ...of, nowMs: t.clock.ms }));
  await transaction(t.pool, (executor) => enqueue(executor, deliveries));
  const outcomes = Array.from({ length: 2001 }, (_, at) => ({ pub_user_id: 'for years', name: 'visit', id: `v${at}` }));
  for (let first = 0; first < outcomes.length; first += 500)
    await Promise.all(
      outcomes
        .slice(first, first + 500)
        .map((payload) =>
          t.app.inject({ method: 'POST', url: `/manage/v1/outcomes?api_key=${t.publisher.key}`, payload }),
        ),
    );
  const { data } = (await askExport(t, { pub_user_id: 'for years' })).json();
  const distinct = (rows: Record<string, unknown>[], ...names: string[]): number =>
    new Set(rows.map((row) => names.map((name) => row[name]).join(' '))).size;
  expect(data.complete).toBe(true);
  expect(distinct(data.sessions, 'session_id')).toBe(2501);
  expect(distinct(data.events, 'session_id', 'kind')).toBe(50_000);
  expect([data.webhooks.length, distinct(data.webhooks, 'id')]).toEqual([5001, 5001]);
  expect(distinct(data.outcomes, 'id')).toBe(2001);
  expect(await readdir(tmpdir())).not.toContainEqual(expect.stringContaining('perkwire-export-'));
});

test('a publisher can run one export at a time', async () => {
  const answers = await Promise.all([1, 2].map(() => askExport(t, { pub_user_id: 'for years' })));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 429]);
});

test('an export is empty for an erased or unknown user, or a user of another publisher', async () => {
  await fetchOffers(t, { pub_user_id: 'gone' });
  await erase(t, { pub_user_id: 'gone' });
  const other = await addPublisher(t);
  const empty = {
    complete: true,
    sessions: [],
    events: [],
    selections: [],
    conversions: [],
    saved_offers: [],
    coupons: [],
    perk_messages: [],
    history: [],
    attributes: [],
    audiences: [],
    source_events: [],
    experiments: [],
    outcomes: [],
    webhooks: [],
  };
  expect((await askExport(t, { pub_user_id: 'gone' })).json().data).toEqual(empty);
  expect((await askExport(t, { pub_user_id: 'never-seen' })).json().data).toEqual(empty);
  expect((await askExport(other, { pub_user_id: 'reader' }, other.publisher.key)).json().data).toEqual(empty);
  expect((await askExport(t, { pub_user_id: 'reader' }, t.publisher.sdkId)).statusCode).toBe(403);
});
