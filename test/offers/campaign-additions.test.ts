import { afterAll, beforeAll, expect, test } from 'vitest';
import { periodNames } from '../../src/budgets/usage/usage.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';

const noon = Date.parse('2026-11-23T12:00:00Z');
let t: ManagementApp;
let me: Caller;
beforeAll(async () => {
  t = await createManagementApp({ now: () => noon });
  me = await t.caller(t.publisher.id);
  await t.pool.query("update publishers set time_zone = 'UTC'");
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

const dayOfNoon = periodNames('UTC', noon).find((name) => name.startsWith('day')) as string;
const use = (campaignId: number, publisherId: number, [all, spent, unbilled]: readonly number[], period: string) =>
  t.pool.query(
    `insert into campaign_usage (campaign_id, publisher_id, period, micros, spent_micros, unbilled_micros)
    values ($1, $2, $3, $4, $5, $6)`,
    [campaignId, publisherId, period, all, spent, unbilled],
  );

const dayBudget = { metric: 'budget', per: 'day', limit: 99 };

type CampaignUsage = { id: number; usage: unknown };

test('campaign responses contain the spent, reserved, unbilled and planned amounts of each budget', async () => {
  await t.pool.query("update campaigns set activated_at = '2026-11-01' where id = 2");
  await use(2, 0, [30e6, 20.5e6, 1.25e6], dayOfNoon);
  const rules = { pacing: 'even', total_caps: [dayBudget] };
  const saved = await me.call('PATCH', '/campaigns/2', { rules });
  const usage = [
    {
      publisher_id: null,
      metric: 'budget',
      per: 'day',
      limit: 99,
      spent: 20.5,
      reserved: 9.5,
      unbilled: 1.25,
      planned: 50,
      projected: expect.any(Number),
      reached_at: null,
      period_ends_at: expect.any(String),
      remaining: 78.5,
      next_cost: expect.any(Number),
      exhausted: false,
    },
  ];
  // The response of the call that sets the budget contains the usage, too.
  expect(saved.body.data.usage).toEqual(usage);
  const campaign = await me.call('GET', '/campaigns/2');
  expect(campaign.body.data.usage).toEqual(usage);
  const { data } = (await me.call('GET', '/campaigns?limit=100')).body as unknown as { data: CampaignUsage[] };
  expect(data.find(({ id }) => id === 2)?.usage).toEqual(usage);
  expect(data.find(({ id }) => id === 1)?.usage).toEqual([]);
});

test('accepts a campaign exactly as it was returned, and keeps its ETag when money is spent', async () => {
  const campaign = await me.call('GET', '/campaigns/2');
  await t.pool.query('update campaign_usage set spent_micros = spent_micros + 1e6 where campaign_id = 2');
  const { data } = (await me.call('GET', '/campaigns/2')).body;
  expect(data.usage).toMatchObject([{ spent: 21.5 }]);
  const put = await me.call('PUT', '/campaigns/2', data, { 'if-match': String(campaign.headers.etag) });
  expect(put.status).toBe(200);
  expect(put.headers.etag).toBe(campaign.headers.etag);
});

test('a budget that is used too fast shows when it will be reached, in the API and on the page', async () => {
  await t.pool.query('update campaign_usage set micros = 66e6, spent_micros = 66e6 where campaign_id = 2');
  // In the 12 hours until noon, 66 of 99 were used, so the other 33 last for 6 hours.
  const [usage] = (await me.call('GET', '/campaigns/2')).body.data.usage as { reached_at: string; projected: number }[];
  expect(usage).toMatchObject({ reached_at: '2026-11-23T18:00:00.000Z', projected: 99 });
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/campaigns/2`;
  expect((await admin.get(page)).body).toMatch(/Will be reached<\/span><br><small><time datetime="2026-11-23T18:00/);
  await t.pool.query('update campaign_usage set micros = 99e6, spent_micros = 99e6 where campaign_id = 2');
  const [reached] = (await me.call('GET', '/campaigns/2')).body.data.usage as object[];
  expect(reached).toMatchObject({ reached_at: null, exhausted: true });
  expect((await admin.get(page)).body).toContain('New period:');
  await t.pool.query('update campaign_usage set micros = 30e6, spent_micros = 20.5e6 where campaign_id = 2');
});

test('metrics show spent, reserved and unbilled amounts by currency, and budgets by state', async () => {
  await t.pool.query("update campaigns set payout_currency = 'SEK' where id in (2, 3)");
  await me.call('PATCH', '/campaigns/3', { rules: { total_caps: [{ ...dayBudget, per: 'lifetime', limit: 5 }] } });
  await use(2, 0, [30e6, 20e6, 0], 'lifetime');
  await use(3, 0, [5e6, 5e6, 2e6], 'lifetime');
  await use(3, 7, [1e6, 1e6, 1e6], 'lifetime');
  await t.deps.catalog.refresh();
  const page = await t.deps.metrics.registry.metrics();
  expect(page).toContain('perkwire_budget_spent{currency="SEK"} 25');
  expect(page).toContain('perkwire_budget_reserved{currency="SEK"} 10');
  expect(page).toContain('perkwire_budget_unbilled{currency="SEK"} 2');
  expect(page).toContain('perkwire_budgets{state="open"} 1');
  expect(page).toContain('perkwire_budgets{state="reached"} 1');
});
