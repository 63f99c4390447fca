import { afterAll, beforeAll, expect, test } from 'vitest';
import { describe as describeAlert } from '../../src/alerts/describe.ts';
import { deliveryStateOf, type Standing } from '../../src/budgets/standing.ts';
import { periodName } from '../../src/budgets/usage/usage.ts';
import { raiseCampaignEvents } from '../../src/tracking/campaign-events.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';

const noon = Date.parse('2026-11-23T12:00:00Z');
const dayMs = 24 * 3_600_000;
let t: ManagementApp;
let me: Caller;
let viewer: TestUser;
beforeAll(async () => {
  t = await createManagementApp({ now: () => noon });
  me = await t.caller(t.publisher.id);
  viewer = await signInAs(t, 'analyst');
  await t.pool.query("update publishers set time_zone = 'UTC'");
  await t.pool.query('update campaign_publishers set payout_amount = null, total_caps = null where campaign_id = 2');
  await t.pool.query("update campaigns set rules = '{}', payout_currency = 'EUR'");
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

async function setSpent(campaignId: number, money: { spent: number; all?: number }, period = 'lifetime') {
  await t.pool.query('delete from campaign_usage where campaign_id = $1 and period = $2', [campaignId, period]);
  await t.pool.query(
    `insert into campaign_usage (campaign_id, publisher_id, period, micros, spent_micros) values ($1, 0, $2, $3, $4)`,
    [campaignId, period, (money.all ?? money.spent) * 1e6, money.spent * 1e6],
  );
}

const setBudget = async (limit: number, change: Record<string, unknown> = {}) => {
  const rules = { total_caps: [{ metric: 'budget', per: 'lifetime', limit }] };
  const saved = await me.call('PATCH', '/campaigns/2', { payout_kind: 'cpa', payout_amount: 12, rules, ...change });
  expect(saved.status).toBe(200);
  await t.deps.catalog.refresh();
};

const stateOf = async () => (await me.call('GET', '/campaigns/2')).body.data.delivery_state;

test('a budget that cannot pay for the next event is exhausted in every kind of campaign', async () => {
  const cases = [
    { kind: 'cpa', price: 12, spent: 18, state: 'delivering' },
    { kind: 'cpa', price: 12, spent: 18.000_001, state: 'exhausted' },
    { kind: 'cpc', price: 0.4, spent: 29.6, state: 'delivering' },
    { kind: 'cpc', price: 0.4, spent: 29.7, state: 'exhausted' },
    { kind: 'cpm', price: 5, spent: 29.995, state: 'delivering' },
    { kind: 'cpm', price: 5, spent: 29.996, state: 'exhausted' },
    { kind: 'cps', price: 10, spent: 29.999_999, state: 'delivering' },
    { kind: 'cps', price: 10, spent: 30, state: 'exhausted' },
  ] as const;
  for (const { kind, price, spent, state } of cases) {
    await setBudget(30, { payout_kind: kind, payout_amount: price });
    await setSpent(2, { spent });
    expect([kind, spent, await stateOf()]).toEqual([kind, spent, state]);
  }
});

test('the API, list, page and explanation show the remaining budget and the cost of the next event', async () => {
  await setBudget(30);
  await setSpent(2, { spent: 24 });
  const { data } = (await me.call('GET', '/campaigns/2')).body;
  expect(data).toMatchObject({
    delivery_state: 'exhausted',
    usage: [{ limit: 30, spent: 24, remaining: 6, next_cost: 12, exhausted: true }],
  });
  const textOf = async (path: string, language: string) => {
    const { body } = await viewer.get(`/dashboard/p/${t.publisher.id}${path}`, { 'accept-language': language });
    return body.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
  };
  for (const path of ['/campaigns/2', '/campaigns?delivery_state=exhausted']) {
    expect(await textOf(path, 'en-GB')).toContain(
      'Budget exhausted: €6.00 is left, but the next conversion costs €12.00.',
    );
    expect(await textOf(path, 'de')).toMatch(
      /Budget ausgeschöpft: 6,00.€ sind übrig, aber die nächste Conversion kostet 12,00.€\./,
    );
  }
  expect(await textOf('/campaigns?delivery_state=ended', 'en-GB')).not.toContain('Budget exhausted');
  const explained = await me.call('POST', '/explain', { placement: 'default', pub_user_id: 'reader-1' });
  expect(JSON.stringify(explained.body)).toContain('the remaining 6.00 does not cover the next conversion (12.00 EUR)');
});

test('a list can be filtered by delivery state, and rejects an unknown state', async () => {
  await setBudget(30);
  await setSpent(2, { spent: 24 });
  const idsOf = async (state: string) =>
    ((await me.call('GET', `/campaigns?delivery_state=${state}`)).body.data as unknown as { id: number }[]).map(
      ({ id }) => id,
    );
  expect(await idsOf('exhausted')).toEqual([2]);
  expect(await idsOf('delivering')).not.toContain(2);
  const all = (await me.call('GET', '/campaigns?limit=100')).body.data as unknown as {
    id: number;
    delivery_state: string;
  }[];
  for (const state of new Set(all.map((row) => row.delivery_state)))
    expect(await idsOf(state)).toEqual(all.filter((row) => row.delivery_state === state).map(({ id }) => id));
  const refused = await me.call('GET', '/campaigns?delivery_state=active');
  expect(refused.status).toBe(400);
});

test('a campaign has one state, and manual changes override its budgets', async () => {
  await setBudget(30);
  await setSpent(2, { spent: 24 });
  const at = (ms: number): string => new Date(noon + ms).toISOString();
  const rules = { total_caps: [{ metric: 'budget', per: 'lifetime', limit: 30 }] };
  const change = async (fields: Record<string, unknown>) => {
    expect((await me.call('PATCH', '/campaigns/2', fields)).status).toBe(200);
    await t.deps.catalog.refresh();
    return stateOf();
  };
  expect(await change({ rules: { ...rules, schedule: { start_at: at(dayMs) } } })).toBe('scheduled');
  expect(await change({ active: false })).toBe('paused');
  expect(await change({ rules: { ...rules, schedule: { end_at: at(-dayMs) } } })).toBe('ended');
  expect((await me.call('POST', '/campaigns/2/stop')).status).toBe(200);
  expect(await stateOf()).toBe('stopped');
  expect((await me.call('POST', '/campaigns/2/resume')).status).toBe(200);
  expect(await change({ active: true, rules })).toBe('exhausted');
  await setSpent(2, { spent: 0, all: 24 });
  expect(await stateOf()).toBe('limited'); // open responses reserve the rest
  await setSpent(2, { spent: 0 });
  expect(await stateOf()).toBe('delivering');
});

test('a campaign that is exhausted at one of two publishers is limited, and exhausted at both', () => {
  const standing: Standing = {
    publisherId: 1,
    metric: 'budget',
    per: 'day',
    limit: 10,
    spent: 9,
    reserved: 0,
    unbilled: 0,
    planned: null,
    remaining: 1,
    nextCost: 2,
    exhausted: true,
    endMs: null,
    projected: null,
    reachedMs: null,
    curve: () => null,
  };
  const status = { active: true, isStopped: false, isRemoved: false, schedule: {}, publisherIds: [1, 2] };
  const open = { ...standing, spent: 0, remaining: 10, exhausted: false };
  expect(deliveryStateOf(status, [standing], noon)).toBe('limited');
  expect(deliveryStateOf(status, [standing, { ...standing, publisherId: 2 }], noon)).toBe('exhausted');
  expect(deliveryStateOf(status, [open], noon)).toBe('delivering');
  expect(deliveryStateOf(status, [{ ...open, spent: 5, planned: 2 }], noon)).toBe('limited');
});

test('campaign.budget_reached is sent once per period when too little is left for the next event', async () => {
  const rules = { total_caps: [{ metric: 'budget', per: 'day', limit: 30 }] };
  await setBudget(30, { rules });
  const day = (at: number): string => periodName('day', 'UTC', at);
  const raise = async (atMs: number) => {
    await Promise.all([1, 2].map(() => raiseCampaignEvents({ ...t.deps, now: () => atMs })));
    const { rows } = await t.pool.query(
      `select data, count from operational_events where event = 'campaign.budget_reached'
        and (data->>'campaign_id')::integer = 2 order by subject`,
    );
    return rows;
  };
  await setSpent(2, { spent: 18, all: 30 }, day(noon));
  expect(await raise(noon)).toEqual([]);
  await setSpent(2, { spent: 24 }, day(noon));
  const [first, ...more] = await raise(noon);
  expect(more).toEqual([]);
  expect(first.data).toMatchObject({
    per: 'day',
    metric: 'budget',
    limit: 30,
    spent: 24,
    remaining: 6,
    next_cost: 12,
    next_event: 'conversion',
    currency: 'EUR',
  });
  await setSpent(2, { spent: 30 }, day(noon));
  expect(await raise(noon)).toHaveLength(1);
  await setSpent(2, { spent: 24 }, day(noon + dayMs));
  expect(await raise(noon + dayMs)).toHaveLength(2);
  expect(describeAlert({ kind: 'budget.100', data: first.data }, 'UTC')).toMatchObject({
    title: expect.stringContaining('Budget exhausted'),
    reason: expect.stringMatching(
      /^€6\.00 of the daily budget of €30\.00 is left, but the next conversion costs €12\.00\./,
    ),
  });
});

test('a budget smaller than one event is exhausted from the start if the campaign is running', async () => {
  await t.pool.query('delete from operational_events');
  await setBudget(5);
  await setSpent(2, { spent: 0 });
  await t.pool.query('delete from campaign_usage where campaign_id = 2');
  const raised = async () =>
    (await t.pool.query("select subject from operational_events where event = 'campaign.budget_reached'")).rows;
  await setBudget(5, { active: false });
  await raiseCampaignEvents({ ...t.deps, now: () => noon });
  expect(await raised()).toEqual([]);
  await setBudget(5, { active: true });
  expect(await stateOf()).toBe('exhausted');
  await raiseCampaignEvents({ ...t.deps, now: () => noon });
  expect(await raised()).toEqual([{ subject: '2 lifetime' }]);
});
