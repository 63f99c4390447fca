import { afterAll, beforeAll, expect, test } from 'vitest';
import { collectSums } from '../../src/experiments/collect.ts';
import { startTestJobs } from '../support/jobs.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, collectAll } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
  await t.pool.query(
    "update campaigns set rules = '{}', payout_kind = 'cpc', payout_amount = 1, payout_currency = 'USD'",
  );
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

const arm = (key: string, share: number, changes: object = {}) => ({ key, share, changes });

type Arm = {
  arm: string;
  users: number;
  sessions: number;
  would_have_seen: { users: number; sessions: number };
  metrics: Record<string, { value: number; difference: { low: number; high: number } | null; is_significant: boolean }>;
  outcomes: Record<string, { value: number; lift: { low: number; high: number } | null }>;
};

async function report(key: string, query = ''): Promise<{ arms: Arm[] } & Record<string, unknown>> {
  await collectAll(t);
  const { status, body } = await api.call('GET', `/manage/v1/experiments/${key}/report${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

const outcome = (fields: object) => api.call('POST', '/manage/v1/outcomes', fields as Record<string, unknown>);

async function click(data: { offers: { click_url: string; pixel: string }[] }): Promise<void> {
  const [offer] = data.offers;
  const path = (url: string): string => url.replace('http://perks.test', '');
  expect((await t.app.inject(path(offer?.pixel ?? ''))).statusCode).toBe(200);
  await t.pool.query("update events set at = at - interval '1 minute' where kind = 'impression'");
  const clicked = await t.app.inject({ url: path(offer?.click_url ?? ''), headers: { 'user-agent': 'Mozilla/5.0' } });
  expect(clicked.statusCode).toBe(302);
}

test('the report counts users, sessions, clicks, revenue and outcomes by arm, each exactly once', async () => {
  await api.start({
    key: 'lift',
    holdout: 0.3,
    arms: [arm('control', 0.4), arm('b', 0.3, { offers_per_response: 1 })],
  });
  const expected: Record<string, { users: number; clicks: number }> = {};
  for (let at = 0; at < 60; at += 1) {
    const data = await api.fetch({ pub_user_id: `user-${at}`, ua: 'Mozilla/5.0' });
    const name = data.experiments[0].arm as string;
    expected[name] ??= { users: 0, clicks: 0 };
    const counts = expected[name];
    counts.users += 1;
    if (name === 'b') {
      await click(data);
      counts.clicks += 1;
    }
    if (at % 7 === 0) await collectSums(t.pool);
    await outcome({ pub_user_id: `user-${at}`, name: 'order', value: 20, currency: 'EUR', id: `o-${at}` });
    expect((await outcome({ pub_user_id: `user-${at}`, name: 'order', value: 99, id: `o-${at}` })).body.message).toBe(
      'duplicate',
    );
  }
  await api.fetch({ pub_user_id: 'user-0', ua: 'Mozilla/5.0' });
  for (const population of ['all', 'would_have_seen']) {
    const { arms, control, erased_users } = await report('lift', `?population=${population}`);
    expect(control).toBe('control');
    expect(erased_users).toBe(0);
    expect(arms.map((arm) => arm.arm)).toEqual(['control', 'holdout', 'b']);
    for (const arm of arms) {
      const { users = 0, clicks = 0 } = expected[arm.arm] ?? {};
      expect(arm.users, arm.arm).toBe(users);
      expect(arm.would_have_seen.users, arm.arm).toBe(users);
      expect((arm.metrics.clicks_per_1000_sessions?.value ?? 0) * arm.sessions, arm.arm).toBeCloseTo(clicks * 1000, 6);
      expect((arm.metrics.revenue_per_1000_sessions?.value ?? 0) * arm.sessions).toBeCloseTo(clicks * 1000, 6);
      expect(arm.outcomes['order EUR']?.value, arm.arm).toBeCloseTo(20, 9);
    }
    expect(arms.reduce((sum, arm) => sum + arm.sessions, 0)).toBe(61);
  }
});

test('users outside the experiment are the control if no arm is', async () => {
  await api.end();
  await api.start({ key: 'out', holdout: 0.5 });
  for (let at = 0; at < 20; at += 1) await api.fetch({ pub_user_id: `outside-${at}` });
  const { arms, control } = await report('out');
  expect(control).toBe('outside');
  expect(arms.map((arm) => arm.users).reduce((sum, users) => sum + users, 0)).toBe(20);
});

test('a change starts a version with its own numbers, and keeps the old ones', async () => {
  await api.end();
  await api.start({ key: 'versions', arms: [arm('control', 0.5), arm('b', 0.5)] });
  for (let at = 0; at < 10; at += 1) await api.fetch({ pub_user_id: `v-${at}` });
  await api.manage('PATCH', '/versions', { arms: [arm('control', 0.4), arm('b', 0.6)] });
  await api.fetch({ pub_user_id: 'v-1' });
  const users = ({ arms }: { arms: Arm[] }) => arms.reduce((sum, arm) => sum + arm.users, 0);
  expect(users(await report('versions'))).toBe(1);
  expect(users(await report('versions', '?version=1'))).toBe(10);
  expect((await api.call('GET', '/manage/v1/experiments/versions/report?version=9')).status).toBe(404);
  expect((await api.call('GET', '/manage/v1/experiments/versions/report?version=x')).status).toBe(400);
  expect((await api.call('GET', '/manage/v1/experiments/nothing/report')).status).toBe(404);
});

test('own events are outcomes of their arm by name, each counted once', async () => {
  await api.end();
  await api.call('PATCH', `/manage/v1/publishers/${t.publisher.id}`, { own_events: ['video_started', 'quiz'] });
  await api.start({ key: 'own', arms: [arm('control', 0.5), arm('b', 0.5)] });
  const started: Record<string, number> = {};
  for (let at = 0; at < 20; at += 1) {
    const data = await api.fetch({ pub_user_id: `own-${at}` });
    const name = data.experiments[0].arm as string;
    if (at % 2 === 0) continue;
    started[name] = (started[name] ?? 0) + 1;
    const url = data.offers[0].events.video_started.replace('http://perks.test', '');
    for (let time = 0; time < 2; time += 1) expect((await t.app.inject(url)).statusCode).toBe(200);
    if (at % 5 === 0) await collectAll(t);
  }
  const { arms } = await report('own');
  expect(arms).toHaveLength(2);
  for (const arm of arms) {
    expect(Object.keys(arm.outcomes)).toEqual(['own:video_started']);
    expect((arm.outcomes['own:video_started']?.value ?? 0) * arm.users).toBeCloseTo(started[arm.arm] ?? 0, 9);
  }
});

test('outcomes before the assignment are not counted', async () => {
  await api.end();
  await outcome({
    pub_user_id: 'early',
    name: 'order',
    value: 5,
    id: 'early-1',
    at: new Date(t.deps.now() - 60_000).toISOString(),
  });
  await api.start({ key: 'early', arms: [arm('b', 1)] });
  await api.fetch({ pub_user_id: 'early' });
  expect((await report('early')).arms.at(-1)?.outcomes).toEqual({});
});

test.each([
  ['a value of 10^12', { value: 1e12 }, '/value'],
  ['a value that is not a number', { value: 'x' }, '/value'],
  ['an unknown currency', { currency: 'euro' }, '/currency'],
  ['a time in an earlier year', { at: '2020-01-01T00:00:00Z' }, '/at'],
  ['a time in the future', { at: new Date(Date.now() + 1e9).toISOString() }, '/at'],
  ['an invalid time', { at: 'soon' }, '/at'],
  ['an empty name', { name: '' }, '/name'],
  ['an empty id', { id: '' }, '/id'],
  ['an unknown field', { colour: 'red' }, '/colour'],
])('an outcome with %s is rejected with an error at the field', async (_what, fields, path) => {
  const { status, body } = await outcome({ pub_user_id: 'u', name: 'order', id: 'bad', ...fields });
  expect(status).toBe(400);
  expect(body.error.details.map((detail: { path: string }) => detail.path)).toContain(path);
});

test('an outcome for an e-mail address is rejected, and one for an unknown user has a keyed hash', async () => {
  expect((await outcome({ pub_user_id: 'a@b.example', name: 'order', id: 'pii' })).body.error.code).toBe(
    'pub_user_id_is_pii',
  );
  expect((await outcome({ pub_user_id: 'nobody-knows', name: 'order', id: 'unknown' })).status).toBe(202);
  const { rows } = await t.pool.query("select row_to_json(o)::text as row from own_outcomes o where id = 'unknown'");
  expect(rows[0].row).not.toContain('nobody-knows');
});

test('an erased user is removed from the totals, and the report says so', async () => {
  await api.end();
  await api.start({ key: 'erased', arms: [arm('control', 0.5), arm('b', 0.5)] });
  for (const pub_user_id of ['stays', 'goes']) {
    await api.fetch({ pub_user_id });
    await outcome({ pub_user_id, name: 'order', id: `erase ${pub_user_id}` });
  }
  await report('erased');
  const erased = await api.call('DELETE', '/manage/v1/users/goes');
  expect(erased.status, JSON.stringify(erased.body)).toBeLessThan(300);
  const background = await startTestJobs(t, 'erasure');
  await expect
    .poll(async () => (await t.pool.query("select from own_outcomes where id = 'erase goes'")).rowCount)
    .toBe(0);
  await background.stop();
  const { arms, erased_users } = await report('erased');
  expect(erased_users).toBe(1);
  expect(arms.reduce((sum, arm) => sum + arm.users, 0)).toBe(1);
});
