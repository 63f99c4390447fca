import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { runCommand } from '../../command-line/support.ts';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { addPublisher } from '../../perks/wallet/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { couponCalls } from '../support.ts';

let t: TestApp;
let analyst: TestUser;
let base: string;
const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;
beforeAll(async () => {
  t = await createTestApp();
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  analyst = await signInAs(t, 'analyst');
});
afterAll(() => t.close());

const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const listOf = async (query = '', key = t.publisher.key) =>
  (await t.app.inject(`/manage/v1/coupon-pools?api_key=${key}${query}`)).json();

test('the page of a publisher without coupons says where to add codes', async () => {
  const { body } = await analyst.get(own('/coupons'));
  expect(textOf(body)).toContain('No coupon codes yet');
  expect(body).toContain(`href="${own('/offers')}"`);
  expect((await analyst.get(own('/coupons'), { 'accept-language': 'de' })).body).toContain('Noch keine Gutscheincodes');
  expect(await listOf()).toMatchObject({ data: [], next_cursor: null });
});

test('all pools are listed with their stock, and those that need attention come first', async () => {
  const calls = couponCalls(t);
  const at = (days: number) => new Date(Date.now() + days * dayMs).toISOString();
  await calls.add(1, { codes: ['A-1', 'A-2'] });
  await calls.add(2, { codes: ['B-1'] });
  await calls.change(2, { expires_at: at(3), low_share: 0 });
  await calls.add(3, { shared: 'SAVE10' });
  await calls.change(4, { terms: 'Empty' });
  await t.pool.query("update coupon_pools set expires_at = now() - interval '1 day' where offer_id = 3");

  const { data } = await listOf();
  const summary = data.map((pool: Record<string, unknown>) => [pool.offer_id, pool.kind, pool.state, pool.left]);
  expect(summary).toEqual([
    [1, 'codes', 'available', 2],
    [2, 'codes', 'expiring', 1],
    [3, 'shared', 'expired', 1],
    [4, 'codes', 'empty', 0],
  ]);
  expect(data[3].paused_since).not.toBeNull();
  expect((await listOf('&state=empty')).data).toHaveLength(1);
  const first = await listOf('&limit=3');
  expect(first.next_cursor).toBe('3');
  expect((await listOf(`&limit=3&cursor=${first.next_cursor}`)).data.map(({ offer_id }: never) => offer_id)).toEqual([
    4,
  ]);
  expect((await t.app.inject(`/manage/v1/coupon-pools?api_key=${t.publisher.key}&state=gone`)).statusCode).toBe(400);

  const { body } = await analyst.get(own('/coupons'));
  const order = [...body.matchAll(/\/offers\/(\d+)#coupons/g)].map(([, id]) => Number(id));
  expect(order).toEqual([3, 4, 2, 1]);
  expect(textOf(body)).toMatch(/All \(4\).*Expired \(1\).*Empty \(1\).*The offer is paused/);
  const filtered = (await analyst.get(own('/coupons?state=expiring'))).body;
  expect([...filtered.matchAll(/\/offers\/(\d+)#coupons/g)]).toHaveLength(1);
});

test('the numbers of a pool open its codes, each with its status and the session of its user', async () => {
  const insert = (minute: number, columns: string) =>
    t.pool.query(
      `insert into coupons (user_key, offer_id, publisher_id, session_id, sealed, digest, given_at, held_until,
        redeemed_at, cancelled_at)
      select gen_random_uuid(), 1, $1, $2, '', gen_random_uuid(), '2026-05-01T12:00:00Z'::timestamptz
        + $3 * interval '1 minute', ${columns}`,
      [t.publisher.id, `0196a000-0000-7000-8000-00000000000${minute}`, minute],
    );
  await insert(1, 'null, null, null');
  await insert(2, 'null, now(), null');
  await insert(3, 'null, now(), now()');
  await insert(4, "now() + interval '1 hour', null, null");
  await t.pool.query('update coupon_stock set given = 3, redeemed = 1, cancelled = 1, held = 1 where offer_id = 1');
  const list = (await analyst.get(own('/coupons'))).body;
  const codes = own('/offers/1/coupons/codes');
  for (const status of ['given', 'redeemed']) expect(list).toContain(`href="${codes}?status=${status}"`);
  const sessionsOf = async (query: string): Promise<number[]> => {
    const { statusCode, body } = await analyst.get(`${codes}${query}`);
    expect(statusCode).toBe(200);
    return [...body.matchAll(/\/story\/0196a000-0000-7000-8000-00000000000(\d)/g)].map(([, minute]) => Number(minute));
  };
  expect(await sessionsOf('?status=given')).toEqual([3, 2, 1]);
  expect(await sessionsOf('?status=redeemed')).toEqual([2]);
  expect(await sessionsOf('?status=cancelled')).toEqual([3]);
  expect(await sessionsOf('?status=held')).toEqual([4]);
  const after = '2026-05-01T12:03:00.000Z_0196a000-0000-7000-8000-000000000003';
  expect(await sessionsOf(`?after=${after}`)).toEqual([2, 1]);
  for (const text of ['nowhere', '2026-02-31T00:00:00.000Z_0196a000-0000-7000-8000-000000000003'])
    expect((await analyst.get(`${codes}?after=${text}`)).statusCode).toBe(200);
  const german = textOf((await analyst.get(`${codes}?status=held`, { 'accept-language': 'de' })).body);
  expect(german).toMatch(/Vergeben \(3\).*Reserviert \(1\).*bis/);
});

test('another publisher cannot open the codes', async () => {
  const operator = await signInAs(t, 'operator');
  const { publisher: other } = await addPublisher(t);
  expect((await operator.get(`/dashboard/p/${other.id}/offers/1/coupons/codes`)).statusCode).toBe(404);
  expect((await operator.get(own('/offers/1/coupons/codes'))).statusCode).toBe(200);
});

test('another publisher sees none of the pools', async () => {
  const { publisher: other } = await addPublisher(t);
  expect((await listOf('', other.key)).data).toEqual([]);
  const operator = await signInAs(t, 'operator');
  expect(textOf((await operator.get(`/dashboard/p/${other.id}/coupons`)).body)).toContain('No coupon codes yet');
});

test('the command line lists the pools, and fails while one is empty', async () => {
  const env = { PERKWIRE_URL: base, PERKWIRE_KEY: t.publisher.key };
  const listed = await runCommand(['coupons', 'list'], env);
  expect(listed).toMatchObject({ code: 1 });
  expect(listed.out).toMatch(/offer 4 .* empty {2}0 left/);
  const { code, out } = await runCommand(['coupons', 'list', '--state', 'available', '--json'], env);
  expect([code, JSON.parse(out)[0].offer_id]).toEqual([0, 1]);
});
