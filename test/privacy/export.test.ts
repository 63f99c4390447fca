import { afterAll, beforeAll, expect, test } from 'vitest';
import { transaction } from '../../src/platform/db/pool.ts';
import { enqueue } from '../../src/webhooks/outbox.ts';
import { addPublisher, save } from '../perks/wallet/support.ts';
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

test('an export has all data stored about a user, and none of others', async () => {
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

test('an export says where it has not all webhooks', async () => {
  const delivery = { publisherId: t.publisher.id, event: 'conversion', sessionId: null, pubUserId: 'often told' };
  const event = { ...delivery, dev: false, payload: () => Buffer.from('{}'), nowMs: t.clock.ms };
  const add = (count: number) => transaction(t.pool, (executor) => enqueue(executor, Array(count).fill(event)));
  const complete = async () => (await askExport(t, { pub_user_id: 'often told' })).json().data.complete;
  await add(2000);
  expect(await complete()).toBe(true);
  await add(1);
  expect(await complete()).toBe(false);
});

test('an export of an erased user, of an unknown one, or by another publisher is empty', async () => {
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
