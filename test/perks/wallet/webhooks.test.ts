import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { type Hook, startHook, startTestDispatcher, until } from '../../webhooks/dispatcher/support.ts';
import { remove, save, showOneTo } from './support.ts';

let first: TestApp;
let second: TestApp;

beforeAll(async () => {
  first = await createTestApp();
  second = await createTestApp({ databaseUrl: first.databaseUrl });
  await first.pool.query('update publishers set wallet_enabled = true');
  await first.deps.catalog.refresh();
  await second.deps.catalog.refresh();
});
afterAll(async () => {
  await second?.close();
  await first?.close();
});
beforeEach(() => first.pool.query('truncate wallet_items, deliveries, delivery_queue; delete from webhook_endpoints'));

const setEndpoint = async (event: string, url = 'http://127.0.0.1:9/hook'): Promise<void> => {
  const answer = await first.app.inject({
    method: 'PUT',
    url: `/manage/v1/webhook-endpoints/${event}?api_key=${first.publisher.key}`,
    payload: { url, method: 'POST' },
  });
  expect(answer.statusCode, answer.body).toBe(201);
};

type WebhookRow = {
  event: string;
  dev: boolean;
  session_id: string;
  pub_user_id: string;
  payload: Record<string, unknown>;
};
const promised = async (): Promise<WebhookRow[]> => {
  const { rows } = await first.pool.query(
    'select event, dev, session_id::text, pub_user_id, payload from deliveries order by id',
  );
  return rows.map((row) => ({ ...row, payload: JSON.parse(row.payload.toString()) }));
};

const both = async (work: (testApp: TestApp) => Promise<{ statusCode: number }>): Promise<number[]> =>
  (await Promise.all(Array.from({ length: 64 }, (_, index) => work(index % 2 === 0 ? first : second)))).map(
    ({ statusCode }) => statusCode,
  );

test("sends saves and removals to the publisher's server with the offer as the user saw it", async () => {
  const hook: Hook = await startHook();
  const dispatcher = await startTestDispatcher(first);
  await setEndpoint('offer_saved', hook.url);
  await setEndpoint('offer_removed', hook.url);
  const offer = await showOneTo(first, 'user-1');
  const before = Date.now();
  await save(first, offer);
  await until(() => hook.requests.length, 1);
  await remove(first, offer.id, 'user-1');
  await until(() => hook.requests.length, 2);
  const received = hook.requests.map(({ body }) => JSON.parse(body.toString()));
  const shownOffer = offer as unknown as Record<string, unknown>;
  for (const [index, event] of ['offer_saved', 'offer_removed'].entries()) {
    expect(hook.requests[index]?.headers).toMatchObject({ 'perkwire-event': event });
    expect(hook.requests[index]?.headers['perkwire-dev']).toBeUndefined();
    expect(received[index]).toEqual({
      event,
      pub_user_id: 'user-1',
      offer_id: offer.id,
      advertiser_name: shownOffer.advertiser_name,
      headline: offer.title,
      short_headline: shownOffer.short_headline,
      description: shownOffer.description,
      short_description: shownOffer.short_description,
      mini_text: shownOffer.mini_text,
      click_url: shownOffer.click_url,
      image: shownOffer.image,
      cta_yes: shownOffer.cta_yes,
      cta_no: shownOffer.cta_no,
      tnc: shownOffer.terms_and_conditions,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    expect(Date.parse(received[index].timestamp)).toBeGreaterThanOrEqual(before);
  }
  await dispatcher.stop();
  await hook.close();
});

test('sends one webhook for 64 concurrent saves or removals, and another for the next save', async () => {
  await setEndpoint('offer_saved');
  await setEndpoint('offer_removed');
  const offer = await showOneTo(first, 'racer');
  expect(new Set(await both((testApp) => save(testApp, offer)))).toEqual(new Set([200]));
  expect((await both((testApp) => remove(testApp, offer.id, 'racer'))).filter((status) => status === 200)).toHaveLength(
    1,
  );
  await both((testApp) => save(testApp, offer));
  expect((await promised()).map(({ event, pub_user_id, session_id }) => [event, pub_user_id, session_id])).toEqual(
    ['offer_saved', 'offer_removed', 'offer_saved'].map((event) => [event, 'racer', offer.sessionId]),
  );
});

test('sends a save in a dev session once per offer with the dev flag, and stores nothing', async () => {
  await setEndpoint('offer_saved');
  const offer = await showOneTo(first, 'developer', { dev: 1 });
  expect(new Set(await both((testApp) => save(testApp, offer)))).toEqual(new Set([200]));
  expect(await promised()).toMatchObject([{ event: 'offer_saved', dev: true, payload: { offer_id: offer.id } }]);
  expect((await first.pool.query('select from wallet_items')).rows).toEqual([]);
});

test('queues nothing without an endpoint for the event, and holds the delivery for a disabled one', async () => {
  await setEndpoint('offer_removed');
  const offer = await showOneTo(first, 'quiet');
  await save(first, offer);
  expect(await promised()).toEqual([]);
  await first.app.inject({
    method: 'POST',
    url: `/manage/v1/webhook-endpoints/offer_removed/disable?api_key=${first.publisher.key}`,
  });
  await remove(first, offer.id, 'quiet');
  expect((await first.pool.query('select event, status from deliveries')).rows).toEqual([
    { event: 'offer_removed', status: 'held' },
  ]);
});
