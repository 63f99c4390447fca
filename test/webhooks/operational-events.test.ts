import { FormatRegistry, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { raiseCampaignEvents } from '../../src/tracking/campaign-events.ts';
import { recordHealth } from '../../src/webhooks/dispatcher/settle/health.ts';
import { applyWebhookRetention } from '../../src/webhooks/jobs.ts';
import { operationalEvents } from '../../src/webhooks/raise-events.ts';
import { sendOperationalEvents } from '../../src/webhooks/send-operational.ts';
import { eventTypes } from '../support/event-types.ts';
import { untilWaiting } from '../support/locks.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { createParts, deliveryOf, type Hook, until } from './dispatcher/support.ts';
import { addManager, type Manager } from './endpoints/manager.ts';

const hourMs = 3_600_000;

let t: TestApp;
const { hook, dispatcher, end } = createParts(() => t);

beforeAll(async () => {
  t = await createTestApp();
});
afterEach(end);
afterAll(() => t.close());

const raised = async (publisherId: number): Promise<Record<string, number>> => {
  const { rows } = await t.pool.query<{ event: string; count: number }>(
    'select event, count from operational_events where publisher_id = $1 and raised_at is not null order by event',
    [publisherId],
  );
  return Object.fromEntries(rows.map(({ event, count }) => [event, count]));
};

async function add(me: Manager, settings: object): Promise<number> {
  const answer = await me.call('POST', '/webhook-endpoints', { method: 'POST', ...settings });
  expect(answer.statusCode, answer.body).toBe(201);
  return answer.json().data.id;
}

/** Returns the payloads of operational events that an endpoint received, in order of arrival. */
const payloads = ({ requests }: Hook) =>
  requests.map(({ body }) => JSON.parse(body.toString())).filter(({ event }) => operationalEvents.includes(event));
const names = (receiver: Hook): string[] => payloads(receiver).map(({ event }) => event);

FormatRegistry.Set('uuid', (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text));
FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)));
const schemaOf = (event: string): TSchema => eventTypes.get(event)?.payload ?? Type.Never();

test('a failing, recovered or disabled endpoint is reported to all others at most once an hour', async () => {
  const me = await addManager(t);
  let status = 500;
  const shop = await hook((response) => void response.writeHead(status).end());
  const ops = await hook();
  const events = ['usp.selection', ...operationalEvents];
  const broken = await add(me, { url: `${shop.url}?key=secret`, events, retry_steps_s: [0, 0, 0] });
  await add(me, { url: ops.url, events: operationalEvents });
  await dispatcher();
  const deliver = async (expected: string) => {
    const id = await me.enqueueDelivery();
    await until(async () => (await deliveryOf(t, id)).status, expected);
    return id;
  };

  const failed = await deliver('failed');
  await until(() => raised(me.id), { 'delivery.exhausted': 1, 'endpoint.failing': 1 });
  let nowMs = Date.now();
  // Two processes send concurrently.
  const sent = await Promise.all([sendOperationalEvents(t.pool, nowMs), sendOperationalEvents(t.pool, nowMs)]);
  expect(sent[0] + sent[1]).toBe(2);
  await until(() => names(ops).sort(), ['delivery.exhausted', 'endpoint.failing']);
  expect(payloads(ops)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ event: 'endpoint.failing', endpoint_id: broken, url: shop.url, failures: 3, count: 1 }),
      expect.objectContaining({
        event: 'delivery.exhausted',
        endpoint_id: broken,
        delivery_id: failed,
        delivery_event: 'usp.selection',
        timestamp: new Date(nowMs).toISOString(),
      }),
    ]),
  );

  await deliver('failed');
  await deliver('failed');
  await until(() => raised(me.id), { 'delivery.exhausted': 2 });
  expect(await sendOperationalEvents(t.pool, nowMs + hourMs - 1)).toBe(0);
  nowMs += hourMs;
  expect(await sendOperationalEvents(t.pool, nowMs)).toBe(1);
  await until(() => payloads(ops).at(-1)?.count, 2);

  status = 200;
  await deliver('delivered');
  await until(() => raised(me.id), { 'endpoint.recovered': 1 });
  await sendOperationalEvents(t.pool, nowMs);
  await until(() => names(ops).at(-1), 'endpoint.recovered');

  status = 410;
  await deliver('failed');
  await until(() => raised(me.id), { 'endpoint.disabled': 1 });
  await sendOperationalEvents(t.pool, nowMs);
  await until(() => names(ops).at(-1), 'endpoint.disabled');
  expect(payloads(ops).at(-1)).toMatchObject({ endpoint_id: broken, reason: 'gone' });
  expect(payloads(shop)).toEqual([]);
  for (const payload of payloads(ops)) expect([...Value.Errors(schemaOf(payload.event), payload)]).toEqual([]);
});

test('an endpoint that recovers and fails again before the event is sent triggers no event', async () => {
  const me = await addManager(t);
  let status = 500;
  const shop = await hook((response) => void response.writeHead(status).end());
  await add(me, { url: shop.url, events: ['usp.selection'], retry_steps_s: [0, 0, 0] });
  await dispatcher();
  const deliver = async (expected: string) => {
    const id = await me.enqueueDelivery();
    await until(async () => (await deliveryOf(t, id)).status, expected);
  };
  await deliver('failed');
  await until(async () => 'endpoint.failing' in (await raised(me.id)), true);
  status = 200;
  await deliver('delivered');
  await until(() => raised(me.id), { 'delivery.exhausted': 1 });
});

test('an endpoint that recovers while its failure is being sent also triggers a recovery event', async () => {
  const me = await addManager(t);
  const endpointId = await me.endpoint('http://127.0.0.1:9/');
  const url = 'http://127.0.0.1:9/';
  const calls = [{ ageMs: 0, failed: true }];
  const call = {
    endpointId,
    url,
    maxInFlight: 4,
    timedOut: false,
    timeouts: 0,
    onlyTimeouts: false,
    calls,
    lastFailed: null,
  };
  await recordHealth(t.pool, [{ ...call, successes: 0, succeeded: false, failures: 3 }]);
  expect(await raised(me.id)).toEqual({ 'endpoint.failing': 1 });
  let recovery: Promise<unknown> | undefined;
  await sendOperationalEvents(t.pool, Date.now(), async () => {
    recovery = recordHealth(t.pool, [{ ...call, successes: 1, succeeded: true, failures: 0 }]);
    await untilWaiting(t.pool, 1);
  });
  await recovery;
  expect(await raised(me.id)).toEqual({ 'endpoint.recovered': 1 });
});

test('the catalogue contains each event with a schema and a sample, as does OpenAPI under webhooks', async () => {
  const { data } = (await t.app.inject('/docs/events')).json();
  expect(data.map(({ name }: { name: string }) => name)).toEqual([...eventTypes.keys()]);
  const { webhooks } = (await t.app.inject('/docs/json')).json();
  for (const { name, schema_url: url, sample } of data) {
    const answer = await t.app.inject(new URL(url).pathname);
    expect(answer.headers['content-type']).toContain('application/schema+json');
    expect(answer.json()).toMatchObject({ $id: url, type: 'object' });
    expect(webhooks[name].post.requestBody.content['application/json'].example).toEqual(sample);
  }
  expect((await t.app.inject('/docs/events/usp.selection.v9.json')).statusCode).toBe(404);
});

type TestCampaign = { id: number; publisher_id: number };

async function activeCampaigns(): Promise<[TestCampaign, TestCampaign]> {
  const { rows } = await t.pool.query<TestCampaign>(
    'select id, publisher_id from campaigns where publisher_id = $1 and active order by id limit 2',
    [t.publisher.id],
  );
  return rows as [TestCampaign, TestCampaign];
}

/** @param publisherId publisher ID, or 0 for the total of all publishers */
const setSpent = (campaignId: number, publisherId: number, micros: number) =>
  t.pool.query(
    `insert into campaign_usage (campaign_id, publisher_id, period, micros, spent_micros)
    values ($1, $2, 'lifetime', 9e9, $3)
    on conflict (campaign_id, publisher_id, period) do update set spent_micros = excluded.spent_micros`,
    [campaignId, publisherId, micros],
  );

test('an exhausted budget and an ended campaign are reported once', async () => {
  const nowMs = Date.now();
  const [campaign] = await activeCampaigns();
  const endAt = new Date(nowMs - 60_000).toISOString();
  await t.pool.query('update campaigns set rules = $2 where id = $1', [
    campaign.id,
    { total_caps: [{ metric: 'budget', per: 'lifetime', limit: 20 }], schedule: { end_at: endAt } },
  ]);
  await t.deps.catalog.refresh();
  const use = (micros: number) => setSpent(campaign.id, 0, micros);
  const raise = () => raiseCampaignEvents({ ...t.deps, now: () => nowMs });
  await use(19_999_999);
  await raise();
  expect(await raised(campaign.publisher_id)).toEqual({ 'campaign.ended': 1 });
  await use(20_000_000);
  await Promise.all([raise(), raise()]);
  expect(await raised(campaign.publisher_id)).toEqual({ 'campaign.budget_reached': 1, 'campaign.ended': 1 });
  const result = await t.pool.query(
    'select event, data from operational_events where publisher_id = $1 order by event',
    [campaign.publisher_id],
  );
  expect(result.rows).toMatchObject([
    { data: { campaign_id: campaign.id, metric: 'budget', per: 'lifetime', limit: 20 } },
    { data: { campaign_id: campaign.id, ended_at: endAt } },
  ]);
  await sendOperationalEvents(t.pool, nowMs);
  await raise();
  expect(await raised(campaign.publisher_id)).toEqual({});
  // The event is not raised again long after the sent events were deleted, because the budget has not changed.
  await applyWebhookRetention(t.pool, t.deps.config, nowMs + 1000 * 24 * hourMs);
  await raiseCampaignEvents({ ...t.deps, now: () => nowMs + 1000 * 24 * hourMs });
  expect(await raised(campaign.publisher_id)).toEqual({});
});

test('a budget is reached once it is spent, whatever is reserved, and a cap once its count is reached', async () => {
  const nowMs = Date.now();
  const [, campaign] = await activeCampaigns();
  const caps = [{ metric: 'budget', per: 'lifetime', limit: 10 }];
  const ownCaps = [...caps, { metric: 'clicks', per: 'lifetime', limit: 3 }];
  await t.pool.query("update campaigns set rules = $2, payout_kind = 'cpc', payout_amount = 3 where id = $1", [
    campaign.id,
    { total_caps: ownCaps },
  ]);
  await t.pool.query('update campaign_publishers set total_caps = $2, payout_amount = null where campaign_id = $1', [
    campaign.id,
    JSON.stringify(caps),
  ]);
  await t.deps.catalog.refresh();
  const use = (publisherId: number, micros: number) => setSpent(campaign.id, publisherId, micros);
  const raise = async () => {
    await raiseCampaignEvents({ ...t.deps, now: () => nowMs });
    const { rows: events } = await t.pool.query(
      `select subject from operational_events
      where event = 'campaign.budget_reached' and (data->>'campaign_id')::integer = $1 order by length(subject)`,
      [campaign.id],
    );
    return events.map(({ subject }) => subject);
  };
  await use(0, 7_000_000);
  expect(await raise()).toEqual([]);
  await use(0, 7_000_001); // what is left does not pay for another click
  expect(await raise()).toEqual([`${campaign.id} lifetime`]);
  await use(0, 10_000_000);
  expect(await raise()).toEqual([`${campaign.id} lifetime`]);
  await use(campaign.publisher_id, 12_000_000);
  expect(await raise()).toEqual([`${campaign.id} lifetime`, `${campaign.id} ${campaign.publisher_id} lifetime`]);
  await t.pool.query('update campaign_usage set clicks = 3 where campaign_id = $1 and publisher_id = 0', [campaign.id]);
  expect(await raise()).toContain(`${campaign.id} clicks lifetime`);
});

test('a cap that is reached at the very end of its period is reported in the next one', async () => {
  const midnightMs = Date.parse('2031-03-01T00:00:00Z');
  const [, campaign] = await activeCampaigns();
  await t.pool.query("update publishers set time_zone = 'UTC' where id = $1", [campaign.publisher_id]);
  await t.pool.query('update campaigns set rules = $2 where id = $1', [
    campaign.id,
    { total_caps: [{ metric: 'clicks', per: 'day', limit: 3 }] },
  ]);
  await t.deps.catalog.refresh();
  await t.pool.query('insert into campaign_usage (campaign_id, publisher_id, period, clicks) values ($1, 0, $2, 3)', [
    campaign.id,
    `day ${new Date(midnightMs - 24 * hourMs).toISOString()}`,
  ]);
  for (const atMs of [midnightMs + 10_000, midnightMs + 20_000])
    await raiseCampaignEvents({ ...t.deps, now: () => atMs });
  const { rows } = await t.pool.query(
    "select subject, count from operational_events where event = 'campaign.budget_reached' and subject like '% day %'",
  );
  expect(rows).toEqual([{ subject: `${campaign.id} clicks day 2031-02-28T00:00:00.000Z`, count: 1 }]);
});
