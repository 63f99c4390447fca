import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, collectAll } from './support.ts';

/*
 * Disturbances of experiments: a rotation of the user pepper, clock jumps and removed rows. Three processes use one
 * database during the rotation: `before`, `during` and `after`, as in docs/operations.md#rotating-the-user-pepper.
 */
const [oldPepper, newPepper] = ['old-pepper-'.repeat(3), 'new-pepper-'.repeat(3)];
let nowMs = Date.now();
let before: TestApp;
let during: TestApp;
let after: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  const now = () => nowMs;
  before = await createTestApp({ now, config: { userPepper: oldPepper, earlierPeppers: [newPepper] } });
  const { databaseUrl } = before;
  during = await createTestApp({ now, databaseUrl, config: { userPepper: newPepper, earlierPeppers: [oldPepper] } });
  after = await createTestApp({ now, databaseUrl, config: { userPepper: newPepper } });
  api = callsOf(before);
});
afterEach(() => api.end());
afterAll(async () => {
  for (const app of [after, during, before]) await app?.close();
});

const halves = (changes: object = {}) => [
  { key: 'control', share: 0.5, changes: {} },
  { key: 'b', share: 0.5, changes },
];
const users = Array.from({ length: 12 }, (_, at) => `user-${at}`);

test("a pepper rotation during an experiment changes nobody's arm, and counts users and outcomes once", async () => {
  await api.start({ key: 'rotated', arms: halves() });
  await Promise.all([during, after].map((app) => app.deps.catalog.refresh()));
  const visit = (t: TestApp) =>
    Promise.all(users.map(async (pub_user_id) => (await callsOf(t).fetch({ pub_user_id })).experiments));
  const order = async (t: TestApp, turn: number) => {
    for (const pub_user_id of users)
      await callsOf(t).call('POST', '/manage/v1/outcomes', {
        pub_user_id,
        name: 'order',
        value: 10,
        id: `${turn} ${pub_user_id}`,
      });
  };
  const arms = await visit(before);
  await collectAll(before);
  await order(before, 1);
  await collectAll(before);
  expect(await visit(during)).toEqual(arms);
  await collectAll(before);
  await order(during, 2);
  expect(await visit(after)).toEqual(arms);
  await order(after, 3);
  await collectAll(before);
  const { body } = await callsOf(after).manage('GET', '/rotated/report');
  type Arm = { users: number; sessions: number; outcomes: { order: { value: number } } };
  const total = (of: (arm: Arm) => number) => body.data.arms.reduce((sum: number, arm: Arm) => sum + of(arm), 0);
  expect(total((arm) => arm.users)).toBe(users.length);
  expect(total((arm) => arm.sessions)).toBe(3 * users.length);
  for (const arm of body.data.arms as Arm[]) expect(arm.outcomes.order.value).toBeCloseTo(30, 9);
  // The process that only has the new pepper erases the user.
  expect((await callsOf(after).call('DELETE', '/manage/v1/users/user-0')).status).toBeLessThan(300);
});

test('a clock jump at the start moves nobody to another arm', async () => {
  await api.start({ key: 'clock', arms: halves() });
  const armsNow = () =>
    Promise.all(
      users.map(async (pub_user_id) =>
        (await api.fetch({ pub_user_id })).experiments?.map((experiment: object) => experiment),
      ),
    );
  const arms = await armsNow();
  const startedMs = nowMs;
  nowMs = startedMs - 60_000;
  expect((await armsNow()).every((experiments) => experiments === undefined)).toBe(true);
  nowMs = startedMs + 3_600_000;
  expect(await armsNow()).toEqual(arms);
  nowMs = startedMs;
});

test('a removed theme prevents the start, and makes a running experiment show the unit unchanged', async () => {
  const theme = async (name: string): Promise<number> =>
    (await api.call('POST', '/manage/v1/themes', { name, unit: 'mou', settings: { delay: 77 } })).body.data.id;
  const [first, second] = [await theme('First'), await theme('Second')];
  await api.manage('POST', '', { key: 'draft', arms: halves({ theme_id: first }) });
  await api.start({ key: 'runs', arms: [{ key: 'b', share: 1, changes: { theme_id: second } }] });
  expect((await api.fetch({ pub_user_id: 'u' })).settings.delay).toBe(77);
  for (const id of [first, second]) await api.call('DELETE', `/manage/v1/themes/${id}`);
  const { status, body } = await api.manage('POST', '/draft/start');
  expect([status, body.error.details[0].path]).toEqual([400, '/arms/1/changes/theme_id']);
  const data = await api.fetch({ pub_user_id: 'u' });
  expect(data.settings.delay).not.toBe(77);
  expect(data.offers.length).toBeGreaterThan(0);
  await api.manage('POST', '/runs/stop');
});

test('invalid or excessive outcome values are rejected', async () => {
  for (const value of [1e12, -1e12, '1e400'])
    expect(
      (await api.call('POST', '/manage/v1/outcomes', { pub_user_id: 'u', name: 'order', value, id: 'x' })).status,
    ).toBe(400);
});
