import { afterEach, beforeEach, expect, test } from 'vitest';
import { conversionEvent } from '../../src/tracking/conversions/postback.ts';
import { createManagementApp } from '../catalog/resources/support.ts';
import {
  addPostbackEndpoint,
  clickIdOf,
  clickOffer,
  createTimedApp,
  postbacks,
  setCampaign,
  track,
} from './conversions/support.ts';
import { browser, call, showOffer } from './journey.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeEach(async () => {
  t = await createTimedApp();
  await t.pool.query(
    `update campaigns set rules = '{}', payout_kind = 'cpc', payout_amount = 0.9, payout_currency = 'USD'`,
  );
  await t.pool.query('update campaign_publishers set payout_amount = null, total_caps = null');
  await t.pool.query('update publishers set currency_multiplier = 100');
  await t.deps.catalog.refresh();
});
afterEach(() => t.close());

const endpoint = async (): Promise<void> => {
  await addPostbackEndpoint(t, 'https://publisher.example/postback');
  await t.deps.catalog.refresh();
};

test('each paid click is posted back once, with the fields of every postback', async () => {
  await endpoint();
  const click = await showOffer(t, { ua: browser, pub_user_id: 'user-1', subid: 'A-77' });
  await call(t, click.pixel);
  t.clock.ms += 1000;
  await setCampaignsTo({ is_loyalty: true });
  const clickId = await clickIdOf(t, click.click_url);
  const { rows } = await t.pool.query<{ name: string }>(
    `select a.name from campaigns c join advertisers a on a.id = c.advertiser_id where c.id = $1`,
    [click.campaign_id],
  );
  const [sent, ...more] = await postbacks(t, click.sessionId);
  expect(more).toEqual([]);
  const at = new Date(t.clock.ms).toISOString();
  expect(sent).toEqual({
    conversion_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    status: 'recorded',
    event: 'click',
    txn_id: '',
    offer_id: click.id,
    campaign_id: click.campaign_id,
    advertiser_name: rows[0]?.name,
    payout: 0.9,
    unbilled: 0,
    unbilled_reason: '',
    currency: 'USD',
    is_loyalty: true,
    loyalty_amount: 90,
    click_time: at,
    conversion_time: '',
    void_time: '',
    timestamp: at,
    session_id: click.sessionId,
    pub_user_id: 'user-1',
    suspicious: '',
    payload: expect.objectContaining({ subid: 'A-77' }),
  });
  // A repeated click is not paid again.
  await call(t, click.click_url);
  expect(await postbacks(t, click.sessionId)).toHaveLength(1);
  // Conversions have the same fields, with their own time.
  t.clock.ms += 60_000;
  await track(t, { click_id: clickId, payout: '3' });
  const [, conversion] = await postbacks(t, click.sessionId);
  expect(Object.keys(conversion as object)).toEqual(Object.keys(sent as object));
  expect(conversion).toMatchObject({ event: 'conversion', timestamp: new Date(t.clock.ms).toISOString() });
  expect(Object.keys(conversionEvent.payload.properties).sort()).toEqual(Object.keys(sent as object).sort());
});

test('a click beyond the budget is posted back with the amount it would have paid', async () => {
  await endpoint();
  const first = await showOffer(t, { ua: browser });
  await setCampaign(t, first.campaign_id, { priority: 0 });
  await t.deps.catalog.refresh();
  const second = await showOffer(t, { ua: browser });
  expect(second.campaign_id).toBe(first.campaign_id);
  const rules = { total_caps: [{ metric: 'budget', per: 'lifetime', limit: 1 }] };
  await setCampaignsTo({ rules, is_loyalty: true });
  for (const { pixel } of [first, second]) await call(t, pixel);
  t.clock.ms += 1000;
  for (const { click_url: url } of [first, second]) await call(t, url);
  expect(await postbacks(t, first.sessionId)).toMatchObject([{ payout: 0.9, unbilled: 0, loyalty_amount: 90 }]);
  expect(await postbacks(t, second.sessionId)).toMatchObject([
    { payout: 0, unbilled: 0.9, unbilled_reason: 'budget', loyalty_amount: 0 },
  ]);
});

test('an unpaid click is not posted back', async () => {
  await endpoint();
  const bot = await clickOffer(t, { ua: browser }, { 'user-agent': 'Googlebot/2.1' });
  expect(await postbacks(t, bot.sessionId)).toEqual([]);
  await setCampaignsTo({ payout_amount: 0 });
  const free = await clickOffer(t, { ua: browser });
  expect(await postbacks(t, free.sessionId)).toEqual([]);
});

test('paid impressions are posted back only if the publisher subscribes to them', async () => {
  await endpoint();
  await setCampaignsTo({ payout_kind: 'cpm', payout_amount: 5 });
  const silent = await clickOffer(t, { ua: browser });
  expect(await postbacks(t, silent.sessionId)).toEqual([]);
  await t.pool.query("update publishers set postback_events = '{impression}'");
  await t.deps.catalog.refresh();
  const subscribedClick = await clickOffer(t, { ua: browser });
  expect(await postbacks(t, subscribedClick.sessionId)).toMatchObject([
    { event: 'impression', payout: 0.005, click_time: '', conversion_time: '' },
  ]);
  // This publisher gets no postbacks of clicks and conversions, because it does not subscribe to them.
  await setCampaignsTo({ payout_kind: 'cpc', payout_amount: 1 });
  const click = await clickOffer(t, { ua: browser });
  await track(t, { click_id: click.clickId, payout: '3' });
  expect(await postbacks(t, click.sessionId)).toEqual([]);
});

const setCampaignsTo = async (columns: Record<string, unknown>): Promise<void> => {
  const { rows } = await t.pool.query<{ id: number }>('select id from campaigns');
  for (const { id } of rows) await setCampaign(t, id, columns);
  await t.deps.catalog.refresh();
};

test('clicks need no separate transaction if no endpoint subscribes to their postbacks', async () => {
  const flag = async () =>
    (await t.pool.query('select has_postbacks from publishers where id = $1', [t.publisher.id])).rows[0].has_postbacks;
  const batches = async (): Promise<string> => {
    const text = await t.deps.metrics.registry.metrics();
    return text
      .split('\n')
      .filter((line) => /capped_clicks/.test(line))
      .join('\n');
  };
  await t.pool.query('update webhook_endpoints set deleted_at = now()');
  await t.deps.catalog.refresh();
  expect(await flag()).toBe(false);
  const before = await batches();
  await clickOffer(t, { ua: browser });
  expect(await batches()).toBe(before);
  await endpoint();
  expect(await flag()).toBe(true);
  await clickOffer(t, { ua: browser });
  expect(await batches()).not.toBe(before);
  await t.pool.query('update webhook_endpoints set deleted_at = now()');
  expect(await flag()).toBe(false);
});

test('the setting is a field of the publisher and rejects other events', async () => {
  const managed = await createManagementApp();
  try {
    const me = await managed.caller(managed.publisher.id);
    const path = `/publishers/${managed.publisher.id}`;
    expect((await me.call('GET', path)).body.data.postback_events).toEqual(['click', 'conversion']);
    expect((await me.call('PATCH', path, { postback_events: ['impression'] })).status).toBe(200);
    expect((await me.call('GET', path)).body.data.postback_events).toEqual(['impression']);
    expect((await me.call('PATCH', path, { postback_events: ['save'] })).status).toBe(400);
  } finally {
    await managed.close();
  }
});
