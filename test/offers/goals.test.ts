import { afterAll, beforeAll, expect, test } from 'vitest';
import { describe } from '../../src/alerts/describe.ts';
import { writeOutcomes } from '../../src/offers/request-log/outcomes.ts';
import { raiseCampaignEvents } from '../../src/tracking/campaign-events.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { browser, call, fetchOffers } from '../tracking/journey.ts';

const startMs = Date.now();
let nowMs = startMs;
let t: ManagementApp;
let me: Caller;
/** ID of the campaign that has the goal. */
let id: number;
beforeAll(async () => {
  t = await createManagementApp({ now: () => nowMs });
  me = await t.caller(t.publisher.id);
  await t.pool.query("update campaigns set rules = '{}', payout_kind = 'cpm', payout_amount = 9, priority = 5");
  await t.pool.query("update publishers set time_zone = 'UTC'");
});
afterAll(() => t.close());

const hours = (count: number): number => count * 3_600_000;
const inHours = (count: number): string => new Date(startMs + hours(count)).toISOString();
const goal = { metric: 'impressions', count: 1000, by: inHours(10) };

/** Returns the campaign of the first offer shown to a new user. */
async function show(pubUserId: string) {
  const { offers } = await fetchOffers(t, { pub_user_id: pubUserId, ua: browser });
  return offers[0] as (typeof offers)[number];
}

const deliveryOf = async () => (await me.call('GET', `/campaigns/${id}`)).body.data.delivery;

test('a campaign behind its goal is shown first, and each delivery since the goal was set counts once', async () => {
  const before = await show('ann');
  await call(t, before.pixel);
  const { offers } = await fetchOffers(t, { pub_user_id: 'bob', ua: browser });
  const last = offers.at(-1) as (typeof offers)[number];
  await t.pool.query('update campaigns set payout_amount = 0.01 where id = $1', [last.campaign_id]);
  const set = await me.call('PATCH', `/campaigns/${last.campaign_id}`, { goal });
  expect(set.status).toBe(200);
  expect(set.body.data).toMatchObject({
    goal,
    goal_since: expect.any(String),
    delivery: { percent: 100, expected: 0, delivered: 0, on_track: true },
  });
  nowMs = startMs + hours(1);
  id = last.campaign_id;
  const offer = await show('cid');
  expect(offer.campaign_id).toBe(id);
  await Promise.all([call(t, offer.pixel), call(t, offer.pixel)]);
  expect(await deliveryOf()).toMatchObject({ percent: 1, expected: 100, delivered: 1, on_track: false });
});

test('a new count or date continues a goal, and a new metric restarts it', async () => {
  await me.call('PATCH', `/campaigns/${id}`, { goal: { ...goal, count: 2000 } });
  expect(await deliveryOf()).toMatchObject({ expected: 200, delivered: 1 });
  await me.call('PATCH', `/campaigns/${id}`, { goal: { ...goal, metric: 'clicks' } });
  expect(await deliveryOf()).toMatchObject({ expected: 0, delivered: 0 });
  const { body } = await me.call('PATCH', `/campaigns/${id}`, { goal: null });
  expect(body.data).toMatchObject({ goal: null, goal_since: null, delivery: null });
  await me.call('PATCH', `/campaigns/${id}`, { goal });
});

test('an invalid goal is rejected with the names of its fields', async () => {
  const refused = async (wrong: unknown) => {
    const { status, body } = await me.call('PATCH', '/campaigns/1', { goal: wrong });
    expect(status).toBe(400);
    return (body as unknown as { error: { details: { path: string }[] } }).error.details.map(({ path }) => path);
  };
  expect(await refused({ ...goal, by: 'tomorrow' })).toEqual(['/goal/by']);
  expect(await refused({ ...goal, count: 0 })).toEqual(['/goal/count']);
  expect(await refused({ ...goal, metric: 'saves' })).toEqual(['/goal/metric']);
  expect(await refused({ metric: 'clicks', count: 5 })).toEqual(['/goal/by']);
  expect(await refused(7)).toEqual(['/goal']);
});

test('a goal that is unreachable or over causes a warning with what is possible', async () => {
  const warnings = async (newGoal: object) =>
    (await me.call('PATCH', `/campaigns/${id}`, { goal: newGoal })).body.warnings as unknown as { path: string }[];
  const [impossible] = await warnings({ ...goal, count: 50_000_000 });
  expect(impossible).toMatchObject({
    path: '/goal/count',
    message: expect.stringMatching(
      /^The goal cannot be reached in time\. Recent requests suggest that about \d+ can be reached\.$/,
    ),
  });
  const over = await warnings({ ...goal, by: inHours(-1) });
  expect(over.map(({ path }) => path)).toContain('/goal/by');
  await me.call('PATCH', `/campaigns/${id}`, { goal });
});

test('the page and the list show the state of the goal', async () => {
  const viewer = await signInAs(t, 'analyst');
  nowMs += hours(1);
  const text = async (path: string) =>
    (await viewer.get(`/dashboard/p/${t.publisher.id}${path}`, { 'accept-language': 'en-GB' })).body
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ');
  expect(await text(`/campaigns/${id}`)).toMatch(/Goal .* of 1,000 impressions delivered\. Deadline:/);
  const { percent } = (await deliveryOf()) as { percent: number };
  expect(await text('/campaigns')).toMatch(new RegExp(` Goal .* ${percent}% `));
  const german = await viewer.get(`/dashboard/p/${t.publisher.id}/campaigns/${id}`, { 'accept-language': 'de' });
  expect(german.body).toContain('Bis jetzt geplant:');
});

const costs = { targeting: 0.4, frequency_cap: 0.3, pacing: 0.2, hours: 0.04, conditions: 0.01 };
const heldBackBy = Object.entries(costs).map(([rule, share]) => ({ rule, share }));

test('the page and responses show the cost of each rule only for a goal that is behind', async () => {
  nowMs = startMs + hours(8);
  const decided = Object.entries({ ...costs, shown: 0.05 }).map(([outcome, share]) => ({
    publisherId: t.publisher.id,
    campaignId: id,
    outcome,
    decisions: share * 1e9,
  }));
  await writeOutcomes(t.pool, decided, nowMs);
  expect(await deliveryOf()).toMatchObject({ on_track: false, held_back_by: heldBackBy });
  const viewer = await signInAs(t, 'analyst');
  const page = async (): Promise<string> =>
    (await viewer.get(`/dashboard/p/${t.publisher.id}/campaigns/${id}`, { 'accept-language': 'en-GB' })).body;
  const listed = [...(await page()).matchAll(/<li>([^<:]+): ([\d.]+)%<\/li>/g)].map(([, rule, share]) => [rule, share]);
  expect(listed).toEqual([
    ['Targeting does not match', '40'],
    ['Frequency cap reached', '30'],
    ['Ahead of pacing plan', '20'],
    ['Outside the scheduled hours', '4'],
    ['Custom attributes do not match', '1'],
  ]);
  const set = await me.call('PATCH', `/campaigns/${id}`, { goal: { ...goal, count: 1 } });
  expect(set.body.data.delivery).toMatchObject({ on_track: true, held_back_by: [] });
  expect(await page()).not.toMatch(/<li>Targeting does not match: /);
  await me.call('PATCH', `/campaigns/${id}`, { goal });
});

test('a goal that falls behind raises one event a day with its reasons, and appears in the metrics', async () => {
  const raise = () => raiseCampaignEvents({ ...t.deps, now: () => nowMs });
  await raise();
  await raise();
  const { rows } = await t.pool.query("select data from operational_events where event = 'campaign.goal_behind'");
  expect(rows).toEqual([
    {
      data: {
        campaign_id: id,
        name: expect.any(String),
        metric: 'impressions',
        goal: 1000,
        by: goal.by,
        percent: expect.any(Number),
        expected: expect.any(Number),
        delivered: expect.any(Number),
        held_back_by: heldBackBy,
      },
    },
  ]);
  const { reason } = describe({ kind: 'goal.behind', data: rows[0]?.data }, 'UTC');
  expect(reason).toContain(
    'Targeting does not match (40%), Frequency cap reached (30%), Ahead of pacing plan (20%), ' +
      'Outside the scheduled hours (4%), Custom',
  );
  const { percent } = (await deliveryOf()) as { percent: number };
  const page = await t.deps.metrics.registry.metrics();
  expect(page).toContain(`perkwire_goal_percent{campaign="${id}"} ${percent}`);
});

test('a goal can be set and cleared in the form of its campaign', async () => {
  const editor = await signInAs(t, 'manager');
  const path = `/dashboard/p/${t.publisher.id}/campaigns/${id}?edit=budget`;
  const save = async (fields: Record<string, string>) => {
    const answer = await editor.post(path, fields);
    return {
      status: answer.statusCode,
      body: answer.body,
      goal: (await me.call('GET', `/campaigns/${id}`)).body.data.goal,
    };
  };
  const typed = { 'goal.metric': 'conversions', 'goal.count': '7', 'goal.by': '2031-05-06T07:08' };
  expect((await save(typed)).goal).toEqual({ metric: 'conversions', count: 7, by: '2031-05-06T07:08:00Z' });
  const exact = { metric: 'clicks', count: 8, by: '2031-12-31T23:59:59+05:30' };
  expect((await me.call('PATCH', `/campaigns/${id}`, { goal: exact })).status).toBe(200);
  const { body } = await editor.get(path);
  const by = ['goal.by', 'goal.by.was'].map((name) => [
    name,
    new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(body)?.[1] ?? '',
  ]);
  const formFields = { 'goal.metric': 'clicks', 'goal.count': '8', ...Object.fromEntries(by) };
  expect((await save({ ...formFields, overspend_percent: '5' })).goal).toEqual(exact);
  expect((await save({ ...formFields, 'goal.by': '2031-12-31T12:00' })).goal).toEqual({
    ...exact,
    by: '2031-12-31T12:00:00Z',
  });
  const wrong = await save({ ...typed, 'goal.count': '' });
  expect(wrong.status).toBe(422);
  expect(wrong.body).toMatch(/name="goal.count"[^>]* aria-invalid="true"/);
  expect((await save({ 'goal.metric': '', 'goal.count': '', 'goal.by': '' })).goal).toBeNull();
});
