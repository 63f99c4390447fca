import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
});
afterEach(() => api.end());
afterAll(() => t.close());

const arm = (key: string, share: number, changes: object = {}) => ({ key, share, changes });
const step = (after_hours: number, share: number) => ({ after_hours, share });
const more = { offers_per_response: 1 };

test('an experiment is created, shown, listed, changed and removed', async () => {
  const response = await api.manage('POST', '', {
    key: 'two',
    name: 'Two',
    arms: [arm('a', 0.5), arm('b', 0.5, more)],
  });
  expect(response.status).toBe(201);
  expect(response.body.data).toMatchObject({ key: 'two', state: 'draft', version: 1, holdout: 0, placements: null });
  expect((await api.manage('GET', '/two')).body.data.arms).toHaveLength(2);
  expect((await api.manage('GET', '')).body.data).toHaveLength(1);
  expect((await api.manage('PATCH', '/two', { name: 'Zwei' })).body.data.name).toBe('Zwei');
  expect((await api.manage('DELETE', '/two')).status).toBe(204);
  expect((await api.manage('GET', '/two')).status).toBe(404);
});

test.each([
  ['shares above 1', { holdout: 0.5, arms: [arm('a', 0.6)] }, '/arms'],
  ['a share above 1', { arms: [arm('a', 1.5)] }, '/arms/0/share'],
  ['a negative share', { arms: [arm('a', -0.1)] }, '/arms/0/share'],
  ['an empty list of arms', { arms: [] }, '/arms'],
  ['an unknown theme', { arms: [arm('a', 0.5, { theme_id: 999_999 })] }, '/arms/0/changes/theme_id'],
  ['an unknown change', { arms: [arm('a', 0.5, { colour: 'red' })] }, '/arms/0/changes/colour'],
  ['an unknown setting', { arms: [arm('a', 0.5, { settings: { nope: 1 } })] }, '/arms/0/changes/settings/nope'],
  [
    'a setting of the wrong type',
    { arms: [arm('a', 0.5, { settings: { delay: 'x' } })] },
    '/arms/0/changes/settings/delay',
  ],
  ['an unknown label', { arms: [arm('a', 0.5, { labels: { nope: 'x' } })] }, '/arms/0/changes/labels/nope'],
  [
    'eleven offers per response',
    { arms: [arm('a', 0.5, { offers_per_response: 11 })] },
    '/arms/0/changes/offers_per_response',
  ],
  ['a negative floor', { arms: [arm('a', 0.5, { floor: -1 })] }, '/arms/0/changes/floor'],
  ['a duplicate arm', { arms: [arm('a', 0.1), arm('a', 0.1, more)] }, '/arms/1/key'],
  ['an arm named like the hold-out', { arms: [arm('holdout', 0.1)] }, '/arms/0/key'],
  ['six arms', { arms: ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => arm(key, 0.1, more)) }, '/arms'],
  ['five arms that change something', { arms: ['a', 'b', 'c', 'd', 'e'].map((key) => arm(key, 0.1, more)) }, '/arms'],
  [
    'an end before the start',
    { holdout: 0.1, start_at: '2030-01-02T00:00:00Z', end_at: '2030-01-01T00:00:00Z' },
    '/end_at',
  ],
  ['a ramp with decreasing shares', { holdout: 0.1, ramp: [step(0, 0.5), step(1, 0.4)] }, '/ramp/1'],
  ['a ramp with decreasing times', { holdout: 0.1, ramp: [step(5, 0.5), step(1, 0.6)] }, '/ramp/1'],
  ['a ramp above 1', { holdout: 0.1, ramp: [step(0, 1.1)] }, '/ramp/0/share'],
  ['a ramp without steps', { holdout: 0.1, ramp: [] }, '/ramp'],
  ['a smallest lift of 0', { holdout: 0.1, smallest_lift: 0 }, '/smallest_lift'],
  ['an unknown campaign', { holdout: 0.1, campaign_id: 999_999 }, '/campaign_id'],
  ['a blank placement', { holdout: 0.1, placements: [' '] }, '/placements/0'],
  ['an invalid time', { holdout: 0.1, start_at: 'soon' }, '/start_at'],
  ['the year 0000', { holdout: 0.1, start_at: '0000-01-01T00:00:00Z' }, '/start_at'],
  ['an invalid key', { key: 'a b', holdout: 0.1 }, '/key'],
  ['an unknown field', { holdout: 0.1, colour: 'red' }, '/colour'],
])('%s is rejected with an error at the field', async (_what, fields, path) => {
  const { status, body } = await api.manage('POST', '', { key: 'bad', ...fields });
  expect(status).toBe(400);
  expect(body.error.details.map((detail: { path: string }) => detail.path)).toContain(path);
});

test('a theme that was removed is rejected', async () => {
  const response = await api.call('POST', '/manage/v1/themes', { name: 'Going', unit: 'mou' });
  const { id } = response.body.data;
  await api.call('DELETE', `/manage/v1/themes/${id}`);
  const { status } = await api.manage('POST', '', { key: 'gone', arms: [arm('a', 0.5, { theme_id: id })] });
  expect(status).toBe(400);
});

test('the second of two experiments that change the same setting at one placement cannot start', async () => {
  await api.start({ key: 'first', placements: ['checkout'], arms: [arm('a', 0.5, more)] });
  const fields = { key: 'second', arms: [arm('a', 0.2, { offers_per_response: 2 })] };
  await api.manage('POST', '', fields);
  const { status, body } = await api.manage('POST', '/second/start');
  expect(status).toBe(409);
  expect(body.error.message).toContain('first');
  expect(body.error.message).toContain('second');
  expect((await api.manage('PATCH', '/second', { placements: ['elsewhere'] })).status).toBe(200);
  expect((await api.manage('POST', '/second/start')).status).toBe(200);
  expect((await api.manage('PATCH', '/second', { placements: ['Checkout'] })).status).toBe(409);
});

test('a scheduled experiment conflicts with another that is started', async () => {
  const start_at = new Date(t.deps.now() + 86_400_000).toISOString();
  expect((await api.manage('POST', '', { key: 'later', arms: [arm('a', 0.5, more)], start_at })).body.data.state).toBe(
    'scheduled',
  );
  await api.manage('POST', '', { key: 'now', arms: [arm('a', 0.5, more)] });
  expect((await api.manage('POST', '/now/start')).status).toBe(409);
});

test('experiments in one layer can change the same setting, and share its users', async () => {
  const layer = 'number';
  const first = await api.start({ key: 'first', layer, arms: [arm('a', 0.5, more)] });
  const second = await api.start({ key: 'second', layer, arms: [arm('a', 0.5, { offers_per_response: 2 })] });
  expect(second.salt).toBe(first.salt);
  expect(first.allocation).toEqual([{ from: 0, to: 5000, arm: 'a' }]);
  expect(second.allocation).toEqual([{ from: 5000, to: 10_000, arm: 'a' }]);
  await api.manage('POST', '', { key: 'third', layer, arms: [arm('a', 0.1, more)] });
  expect((await api.manage('POST', '/third/start')).status).toBe(409);
});

test('editing a running experiment creates a new version and moves as few users as possible', async () => {
  const before = await api.start({ key: 'grow', arms: [arm('control', 0.2), arm('b', 0.2, more)] });
  const { body } = await api.manage('PATCH', '/grow', { arms: [arm('control', 0.2), arm('b', 0.4, more)] });
  expect(body.data.version).toBe(2);
  expect(body.data.versions).toHaveLength(2);
  expect(body.data.allocation.slice(0, 2)).toEqual([before.allocation[0], { from: 2000, to: 6000, arm: 'b' }]);
  expect((await api.manage('PATCH', '/grow', { name: 'Grow' })).body.data.version).toBe(2);
});

test('reordered arms or rounded shares create no new version if no user moves', async () => {
  const third = 1 / 3;
  await api.start({ key: 'same', holdout: third, arms: [arm('b', third, more), arm('control', third)] });
  const rounded = { holdout: 0.3333, arms: [arm('control', 0.3333), arm('b', 0.3333, more)] };
  expect((await api.manage('PATCH', '/same', rounded)).body.data.version).toBe(1);
  const { body } = await api.manage('PATCH', '/same', { arms: [arm('control', 0.3333), arm('b', 0.3334, more)] });
  expect(body.data.version).toBe(2);
});

test('removing an arm moves its users to the control', async () => {
  await api.start({ key: 'less', arms: [arm('control', 0.4), arm('b', 0.4, more)] });
  const { body } = await api.manage('PATCH', '/less', { arms: [arm('control', 0.4)] });
  expect(body.data.allocation).toEqual([{ from: 0, to: 8000, arm: 'control' }]);
});

test('a stopped experiment can be started again, but not changed before that', async () => {
  await api.start({ key: 'over', arms: [arm('a', 0.5, more)] });
  expect((await api.manage('POST', '/over/stop')).body.data.state).toBe('stopped');
  expect((await api.manage('PATCH', '/over', { arms: [arm('a', 0.6, more)] })).status).toBe(409);
  expect((await api.manage('POST', '/over/start')).body.data).toMatchObject({ state: 'running', version: 2 });
});

const end = (key: string) =>
  t.pool.query("update experiments set end_at = now() - interval '1 minute' where key = $1", [key]);

test('moving an end that has passed restarts the experiment, unless another one conflicts', async () => {
  await api.start({ key: 'past', arms: [arm('a', 0.5, more)] });
  await end('past');
  await api.start({ key: 'next', arms: [arm('a', 0.5, { offers_per_response: 2 })] });
  for (const end_at of [null, '2100-01-01T00:00:00Z']) {
    const { status, body } = await api.manage('PATCH', '/past', { end_at });
    expect(status).toBe(409);
    expect(body.error.message).toContain('next');
  }
  expect((await api.manage('PATCH', '/past', { end_at: '2020-01-01T00:00:00Z' })).body.data.state).toBe('ended');
  await api.manage('POST', '/next/stop');
  const { data } = (await api.manage('PATCH', '/past', { end_at: null })).body;
  expect(data).toMatchObject({
    state: 'running',
    version: 2,
    history: [{ version: 1 }, { action: 'start', version: 2 }],
  });
  expect(Date.parse(data.started_at)).toBe(Date.parse(data.versions[1].at));
});

test('an experiment restarted after its end shares the users of its layer with newer experiments', async () => {
  const layer = 'number';
  await api.start({ key: 'past', layer, arms: [arm('a', 0.5, more)] });
  await end('past');
  const next = await api.start({ key: 'next', layer, arms: [arm('a', 0.5, more)] });
  expect(next.allocation).toEqual([{ from: 0, to: 5000, arm: 'a' }]);
  const { data } = (await api.manage('PATCH', '/past', { end_at: null })).body;
  expect(data.allocation).toEqual([{ from: 5000, to: 10_000, arm: 'a' }]);
  await end('past');
  await api.start({ key: 'last', layer, arms: [arm('a', 0.1, more)] });
  expect((await api.manage('PATCH', '/past', { end_at: null })).status).toBe(409);
});

test('an ended experiment with a new later start is scheduled, and a draft stays a draft', async () => {
  await api.start({ key: 'past', arms: [arm('a', 0.5, more)] });
  await api.manage('POST', '', { key: 'draft', arms: [arm('a', 0.5, more)] });
  await Promise.all([end('past'), end('draft')]);
  expect((await api.manage('PATCH', '/draft', { end_at: null })).body.data).toMatchObject({
    state: 'draft',
    version: 1,
  });
  const fields = { start_at: '2100-01-01T00:00:00Z', end_at: '2100-02-01T00:00:00Z' };
  expect((await api.manage('PATCH', '/past', fields)).body.data).toMatchObject({ state: 'scheduled', version: 2 });
});

test('changing the start of a running or finished experiment creates no new version', async () => {
  await api.start({ key: 'counted', arms: [arm('a', 0.5, more)] });
  const versionFrom = async (start_at: string): Promise<number> =>
    (await api.manage('PATCH', '/counted', { start_at })).body.data.version;
  expect(await versionFrom('2026-01-01T00:00:00Z')).toBe(1);
  await api.manage('POST', '/counted/stop');
  await api.start({ key: 'successor', arms: [arm('a', 0.5, more)] });
  expect(await versionFrom('2100-01-01T00:00:00Z')).toBe(1);
  expect((await api.manage('GET', '/counted')).body.data.history).toHaveLength(2);
});

test('every change is in the audit log', async () => {
  await api.start({ key: 'logged', arms: [arm('a', 0.5, more)] });
  await api.manage('POST', '/logged/stop');
  const { rows } = await t.pool.query(
    "select action, changes from audit_log where resource = 'experiments' and resource_id = 'logged' order by id",
  );
  expect(rows.map(({ action }) => action)).toEqual(['create', 'update', 'update']);
  expect(rows[2].changes.state).toEqual({ old: 'running', new: 'stopped' });
});

test("publishers cannot see other publishers' experiments", async () => {
  await api.start({ key: 'mine', arms: [arm('a', 0.5, more)] });
  const other = await t.pool.query(
    `insert into publishers (name, sdk_id, time_zone, currency_name, currency_multiplier)
    values ('Other', 'ffffffffffffffff', 'UTC', 'points', 1) returning id`,
  );
  await t.pool.query('update experiments set publisher_id = $1', [other.rows[0].id]);
  await t.deps.catalog.refresh();
  expect((await api.manage('GET', '/mine')).status).toBe(404);
  expect((await api.manage('POST', '/mine/stop')).status).toBe(404);
  expect((await api.fetch({ pub_user_id: 'u' })).experiments).toBeUndefined();
  await t.pool.query('delete from experiments');
});

test('at most 50 experiments run at once, which limits the work of a fetch', async () => {
  for (let at = 0; at < 50; at += 1) {
    const response = await api.manage('POST', '', { key: `many-${at}`, arms: [arm('a', 0.01)] });
    expect(response.status).toBe(201);
  }
  await t.pool.query('update experiments set started_at = now()');
  await api.manage('POST', '', { key: 'one-more', arms: [arm('a', 0.01)] });
  expect((await api.manage('POST', '/one-more/start')).status).toBe(409);
});
