import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../src/platform/logger.ts';
import { requestOver } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { addPostbackEndpoint, type Clock, clickIdIn, track } from '../tracking/conversions/support.ts';
import { browser, type ShownOffer } from '../tracking/journey.ts';
import { type Hook, startHook, startTestDispatcher, until } from '../webhooks/dispatcher/support.ts';
import { erase, tablesWith } from './support.ts';

const marks = {
  ipOfBody: '203.0.113.177',
  ipOfSocket: '127.98.51.211',
  ipV6: '2001:db8:77:88:aaaa:bbbb:cccc:dddd',
  fingerprint: 'fp-mark-7f3a9',
  pubUserId: 'user-mark-91c2',
  custom: 'custom-mark-5d1e',
  userAgent: `${browser} mark-of-agent-44`,
};

let t: TestApp & { clock: Clock };
let hook: Hook;
const logs: string[] = [];
let close: () => Promise<void>;

beforeAll(async () => {
  const clock = { ms: Date.now() };
  const logger = createLogger('trace', { write: (line) => void logs.push(line) });
  t = { ...(await createTestApp({ config: { logLevel: 'trace' }, logger, now: () => clock.ms })), clock };
  hook = await startHook((response, request) => response.writeHead(500, { 'x-echo': 'yes' }).end(request.body));
  close = async () => {
    await t.close();
    await hook.close();
  };
});
afterAll(() => close());

/** Sends a request with the marked user's address and user agent. */
const send = (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) =>
  requestOver(t.app, {
    method,
    url,
    remoteAddress: marks.ipOfSocket,
    headers: { 'user-agent': marks.userAgent, 'x-forwarded-for': marks.ipV6 },
    payload,
  });

type Saveable = ShownOffer & { save_for_later_url: string; title: string };

test('no table or log line contains the address or fingerprint, nor the user after an erasure', async () => {
  await t.pool.query("update offers set title = 'For {{pub_user_id}} {{note}} {{ip}} {{ad_fp}} {{ua}}'");
  await t.deps.catalog.refresh();
  await addPostbackEndpoint(t, `${hook.url}/{pub_user_id}?note={note}`);
  const key = t.publisher.key;
  await send('POST', `/manage/v1/webhook-endpoints/usp.selection?api_key=${key}`);
  await t.app.inject({
    method: 'PUT',
    url: `/manage/v1/webhook-endpoints/usp.selection?api_key=${key}`,
    payload: { url: hook.url, method: 'GET', enabled: true },
  });

  const user = { placement: 'checkout', pub_user_id: marks.pubUserId, ad_fp: marks.fingerprint, note: marks.custom };
  const sessions: { session_id: string; offers: Saveable[] }[] = [];
  for (const ip of [marks.ipOfBody, marks.ipV6, 'auto'])
    sessions.push((await send('POST', `/native/v2/offers.json?api_key=${key}`, { ...user, ip })).json().data);
  await send('POST', `/native/v4/offerwall.json?api_key=${key}`, { ...user, ip: marks.ipOfBody });
  await send('POST', `/native/v2/offers.json?api_key=${key}&pub_user_id=${marks.pubUserId}`, {
    ...user,
    pub_user_id: 'bad\0',
    ad_fp: marks.fingerprint,
  });
  const [session] = sessions as [{ session_id: string; offers: [Saveable, Saveable] }];
  expect(session.offers[0].title).toContain(marks.pubUserId);
  const [first, second] = session.offers;
  await send('GET', first.pixel);
  t.clock.ms += 1000;
  const clickId = clickIdIn(await send('GET', first.click_url));
  await send('GET', second.beacons.no_thanks_click);
  await send('GET', second.beacons.close);
  await send('POST', first.save_for_later_url);
  const { sdkId } = t.publisher;
  await send('POST', `/sdk/v4/usp/${session.session_id}/${first.campaign_id}/select.json?api_key=${sdkId}`, {
    pub_user_id: marks.pubUserId,
  });
  await send('POST', `/sdk/v4/usp/session/${session.session_id}.json?api_key=${sdkId}`, {
    action: 'wrap',
    pub_user_id: marks.pubUserId,
  });
  expect((await track(t, { click_id: clickId, payout: '5', txn_id: 'mark' })).json()).toMatchObject({
    message: 'recorded',
  });
  await send('GET', `/wallet/v1/offers.json?api_key=${key}&pub_user_id=${marks.pubUserId}`);
  await send('GET', `/nowhere?pub_user_id=${marks.pubUserId}&ad_fp=${marks.fingerprint}`);
  await send('GET', '/sdk/offer-click?t=bad');

  const dispatcher = await startTestDispatcher(t, { now: Date.now });
  await until(() => hook.requests.length > 1, true);
  await until(
    async () =>
      Number((await t.pool.query('select count(*) from delivery_attempts where outcome is null')).rows[0].count),
    0,
  );
  await dispatcher.stop();

  for (const mark of [marks.ipOfBody, marks.ipOfSocket, marks.ipV6, marks.fingerprint])
    expect([mark, await tablesWith(t, mark)]).toEqual([mark, []]);
  expect(await tablesWith(t, marks.pubUserId)).toEqual(['deliveries', 'delivery_attempts', 'sessions', 'wallet_items']);

  expect((await erase(t, { pub_user_id: marks.pubUserId })).data.status).toBe('done');
  for (const mark of Object.values(marks)) expect([mark, await tablesWith(t, mark)]).toEqual([mark, []]);
  expect(
    (await t.pool.query('select count(*)::int as count from sessions where user_key is not null')).rows[0].count,
  ).toBe(0);
  expect(logs.length).toBeGreaterThan(10);
  for (const mark of Object.values(marks))
    expect([mark, logs.some((line) => line.includes(mark))]).toEqual([mark, false]);
});
