import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHook, startTestDispatcher, until } from '../../webhooks/dispatcher/support.ts';
import { googlebot } from '../journey.ts';
import { addPostbackEndpoint, bookings, clickOffer, createTimedApp, postbacks, setCampaign, track } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeAll(async () => {
  t = await createTimedApp();
});
afterAll(() => t.close());

test('a conversion is posted back with every custom attribute, and its void with negative amounts', async () => {
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
  await t.pool.query('update publishers set currency_multiplier = 2.5');
  const custom = { order_id: 'o-1', 'cart.value': '19.90', vip: 'true', note: 'Grüße & “more” 🎁' };
  const shownMs = t.clock.ms;
  const click = await clickOffer(t, { pub_user_id: 'user-7', ad_fp: 'fp', ...custom });
  await setCampaign(t, click.campaign_id, { is_loyalty: true });
  t.clock.ms += 5000;
  const fields = { click_id: click.clickId, event: 'purchase', payout: '12.50', currency: 'USD', txn_id: 'n-1' };
  await track(t, fields);
  t.clock.ms += 9000;
  await track(t, fields);
  await track(t, { click_id: click.clickId, event: 'purchase', txn_id: 'n-1', void: '1' });
  const [recorded, voided, ...more] = await postbacks(t, click.sessionId);
  expect(more).toEqual([]);
  expect(recorded).toEqual({
    conversion_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    status: 'recorded',
    event: 'purchase',
    txn_id: 'n-1',
    offer_id: click.id,
    campaign_id: click.campaign_id,
    advertiser_name: expect.stringMatching(/./),
    payout: 12.5,
    unbilled: 0,
    unbilled_reason: '',
    currency: 'USD',
    is_loyalty: true,
    loyalty_amount: 31.25,
    click_time: new Date(shownMs + 1000).toISOString(),
    conversion_time: new Date(shownMs + 6000).toISOString(),
    void_time: '',
    timestamp: new Date(shownMs + 6000).toISOString(),
    session_id: click.sessionId,
    pub_user_id: 'user-7',
    suspicious: '',
    payload: custom,
  });
  expect(voided).toEqual({
    ...recorded,
    status: 'void',
    payout: -12.5,
    loyalty_amount: -31.25,
    void_time: new Date(shownMs + 15_000).toISOString(),
    timestamp: new Date(shownMs + 15_000).toISOString(),
  });
  await setCampaign(t, click.campaign_id, { is_loyalty: false });
});

test('postbacks have no loyalty for a campaign without it, and no payout for a suspicious click', async () => {
  const plain = await clickOffer(t, { pub_user_id: 'user-8' });
  await track(t, { click_id: plain.clickId, payout: '3' });
  expect(await postbacks(t, plain.sessionId)).toMatchObject([
    { payout: 3, is_loyalty: false, loyalty_amount: 0, payload: {}, suspicious: '' },
  ]);
  const bot = await clickOffer(t, {}, { 'user-agent': googlebot });
  await track(t, { click_id: bot.clickId, payout: '3' });
  expect(await postbacks(t, bot.sessionId)).toMatchObject([
    { payout: 0, loyalty_amount: 0, pub_user_id: '', suspicious: 'bot' },
  ]);
});

test("a publisher's payout for a campaign may differ from that of other publishers", async () => {
  const click = await clickOffer(t);
  await setCampaign(t, click.campaign_id, { payout_amount: '5', payout_kind: 'cpa' });
  await t.pool.query('update campaign_publishers set payout_amount = 6.5 where campaign_id = $1', [click.campaign_id]);
  await track(t, { click_id: click.clickId });
  expect(await postbacks(t, click.sessionId)).toMatchObject([{ payout: 6.5 }]);
});

test("macros in the endpoint's URL are filled with the conversion and custom keys, percent-encoded", async () => {
  const hook = await startHook();
  const dispatcher = await startTestDispatcher(t, { now: Date.now });
  await addPostbackEndpoint(
    t,
    `${hook.url}/{event}?u={pub_user_id}&pay={payout}&cur={currency}&ref={order.ref}&s={status}&no={nothing}`,
    'GET',
  );
  const click = await clickOffer(t, { pub_user_id: 'user 9/&', 'order.ref': 'a=b&c d' });
  await track(t, { click_id: click.clickId, event: 'sale', payout: '0.000001', currency: 'USD' });
  const sales = (): string[] => hook.requests.map(({ url }) => url).filter((url) => url.startsWith('/hook/sale'));
  await until(() => sales().length, 1);
  expect(sales()[0]).toBe('/hook/sale?u=user%209%2F%26&pay=0.000001&cur=USD&ref=a%3Db%26c%20d&s=recorded&no=');
  await dispatcher.stop();
  await hook.close();
});

test('neither the postback nor the booking is stored if the database cannot store both', async () => {
  const click = await clickOffer(t);
  await t.pool.query('alter table deliveries add constraint refuse check (event is null) not valid');
  expect((await track(t, { click_id: click.clickId, payout: '1' })).statusCode).toBe(500);
  await t.pool.query('alter table deliveries drop constraint refuse');
  expect(await bookings(t, click.sessionId)).toEqual([]);
  expect((await track(t, { click_id: click.clickId, payout: '1' })).json()).toMatchObject({ message: 'recorded' });
});
