import { afterAll, beforeAll, expect, test } from 'vitest';
import { pepperMark } from '../../src/platform/security/user-key.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
});
afterAll(() => t.close());

const arms = (...shares: number[]) =>
  shares.map((share, at) => ({ key: `a${at}`, share, changes: at === 0 ? {} : { settings: { delay: at } } }));

async function plan(fields: object) {
  await api.manage('POST', '', { key: 'plan', ...fields });
  const { status, body } = await api.manage('GET', '/plan/plan');
  expect(status, JSON.stringify(body)).toBe(200);
  await api.manage('DELETE', '/plan');
  return body.data as { users_per_day: number; users_needed: number; days: number; lift: number };
}

test('no plan is possible without revenue', async () => {
  expect(await plan({ arms: arms(0.5, 0.5) })).toEqual({
    lift: 0.05,
    users_per_day: 0,
    users_needed: null,
    days: null,
  });
  expect((await api.manage('GET', '/nothing/plan')).status).toBe(404);
});

test('a plan counts the users of the last week, and needs more users for a smaller difference', async () => {
  for (let at = 0; at < 40; at += 1) {
    const { session_id } = await api.fetch({ pub_user_id: `user-${at}`, placement: at < 30 ? 'checkout' : 'cart' });
    await t.pool.query(
      `insert into bookings (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros)
      select day, id, gen_random_uuid(), publisher_id, 1, 1, now(), 1, $2 from sessions where id = $1`,
      [session_id, 1_000_000 * (1 + (at % 3))],
    );
  }
  for (let at = 0; at < 10; at += 1) await api.fetch({ pub_user_id: `user-${at}` });
  await api.fetch({ pub_user_id: 'test', dev: 1 });
  const half = await plan({ arms: arms(0.5, 0.5) });
  expect(half.users_per_day).toBe(40);
  expect(half.days).toBe(Math.ceil(half.users_needed / 40));
  const finer = await plan({ arms: arms(0.5, 0.5), smallest_lift: 0.025 });
  expect(finer.users_needed / half.users_needed).toBeGreaterThan(3.5);
  const small = await plan({ arms: arms(0.05, 0.05) });
  expect(small.users_needed).toBe(half.users_needed);
  expect(small.days).toBe(Math.ceil(half.users_needed / 4));
  const uneven = await plan({ arms: arms(0.9, 0.1) });
  expect(uneven.users_needed).toBeGreaterThan(2 * half.users_needed);
  const many = await plan({ arms: arms(0.25, 0.25, 0.25, 0.25) });
  expect(many.users_needed).toBeGreaterThan(2 * half.users_needed);
  expect((await plan({ arms: arms(0.5, 0.5), placements: ['cart'] })).users_per_day).toBe(10);
  expect((await plan({ holdout: 0.5 })).users_needed).toBe(half.users_needed);
});

test('each session counts as one user if no session has a user', async () => {
  await t.pool.query('update sessions set user_key = null');
  expect((await plan({ arms: arms(0.5, 0.5) })).users_per_day).toBe(50);
});

test('users are extrapolated from a sample of sessions, including sessions without a user', async () => {
  const mark = pepperMark(t.deps.config.userPepper);
  await t.pool.query('delete from sessions');
  await t.pool.query(
    `insert into sessions (day, id, publisher_id, placement, user_key, offer_ids, campaign_ids, dev, usp, usp_check_all,
      created_at)
    select now()::date, gen_random_uuid(), $1, 'checkout', overlay(md5((n / 2)::text) placing $2 from 1)::uuid, '{}',
      '{}', false, false, false, now()
    from generate_series(0, 59999) n`,
    [t.publisher.id, mark],
  );
  const perDay = async () => (await plan({ arms: arms(0.5, 0.5) })).users_per_day;
  expect(Math.abs((await perDay()) / 30_000 - 1)).toBeLessThan(0.05);
  await t.pool.query('update sessions set user_key = null');
  expect(Math.abs((await perDay()) / 60_000 - 1)).toBeLessThan(0.1);
});
