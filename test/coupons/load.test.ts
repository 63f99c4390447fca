import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestModules, type TestBase } from '../support/test-modules.ts';
import { type CouponResponse, couponCalls } from './support.ts';

let t: TestBase;
let coupons: ReturnType<typeof couponCalls>;
let offer: number;
beforeAll(async () => {
  t = await createTestModules(['coupons']);
  coupons = couponCalls(t);
  offer = [...t.deps.catalog.current().offers.values()].find(({ publisherId }) => publisherId === t.publisher.id)
    ?.id as number;
});
afterAll(() => t.close());
afterEach(() => coupons.removePool(offer));

const refusedAt = (answer: CouponResponse): string[] => {
  expect(answer.status, JSON.stringify(answer.body)).toBe(400);
  return (answer.body.error?.details ?? []).map(({ path }) => path);
};

test('reads a file with a byte order mark, a heading, spaces, quotes and extra columns', async () => {
  const file = '\uFEFFcode,name\r\n  A-1 ,x\r\n\r\n"B-2",y\n   \nC-3,z\nÄ-4';
  const { status, data } = await coupons.add(offer, file);
  expect(status).toBe(201);
  expect(data).toMatchObject({ added: 4, duplicate_count: 0, total: 4, left: 4, given: 0, redeemed: 0 });
});

test('reports a code that is too long, and adds no codes from the file', async () => {
  const file = `A-1\n${'x'.repeat(300)}\nB-2\n${'ü'.repeat(201)}\nb\u0001d`;
  expect(refusedAt(await coupons.add(offer, file))).toEqual(['/lines/2', '/lines/4', '/lines/5']);
  expect((await coupons.count(offer)).data).toMatchObject({ total: 0, left: 0 });
  expect((await coupons.pool(offer)).status).toBe(404);
  expect(t.deps.catalog.current().offers.get(offer)?.active).toBe(true);
  expect(refusedAt(await coupons.add(offer, { codes: ['ok', '', 'x'.repeat(300)] }))).toEqual(['/codes/1', '/codes/2']);
});

test('skips empty lines and reports codes by line number', async () => {
  const empty = '\n'.repeat(600_000);
  const { data } = await coupons.add(offer, `A-1\n${empty}A-1\n`);
  expect(data).toMatchObject({ added: 1, duplicates: [{ line: 600_002, code: 'A-1' }] });
});

test('rejects an endless line, unless it is blank or in an extra column', async () => {
  const endless = 'x'.repeat(1_000_000);
  for (const file of [endless, `"${endless}"`])
    expect(refusedAt(await coupons.add(offer, `A-1\n${file}\nB-2`))).toEqual(['/lines/2']);
  expect(refusedAt(await coupons.add(offer, `A-1\n${endless.repeat(3)}`))).toEqual(['/lines/2']);
  const { data } = await coupons.add(offer, `code,note\nA-1,${endless}\nB-2,${endless}\n${' '.repeat(1_000_000)}`);
  expect(data).toMatchObject({ added: 2 });
});

test('skips and reports duplicates in the file, in the pool, and of assigned codes', async () => {
  await coupons.add(offer, { codes: ['A', 'B,1', 'C'] });
  const { data } = await coupons.add(offer, 'D\nA\nE\nD\n');
  expect(data).toMatchObject({ added: 2, total: 5, duplicate_count: 2 });
  expect(data.duplicates).toEqual([
    { line: 2, code: 'A' },
    { line: 4, code: 'D' },
  ]);
});

test('loads a file of several blocks completely', async () => {
  const codes = Array.from({ length: 30_500 }, (_, index) => `BULK-${index}`);
  expect((await coupons.add(offer, codes.join('\n'))).data).toMatchObject({ added: 30_500, left: 30_500 });
  expect((await coupons.add(offer, `${codes.join('\n')}\nNEW`)).data).toMatchObject({
    added: 1,
    duplicate_count: 30_500,
  });
});

test('generates unique codes from a pattern that are hard to guess', async () => {
  const { status, data } = await coupons.add(offer, { pattern: 'SPRING-********-##', count: 500 });
  expect(status).toBe(201);
  expect(data).toMatchObject({ added: 500, left: 500, duplicate_count: 0, warnings: [] });
  expect(refusedAt(await coupons.add(offer, { pattern: 'A-#', count: 5 }))).toEqual(['/pattern']);
  expect(refusedAt(await coupons.add(offer, { pattern: '*****', count: 0 }))).toEqual(['/count']);
});

test('warns of a pattern if more than one guess in a million is right', async () => {
  const { data } = await coupons.add(offer, { pattern: 'SPRING-****', count: 1000 });
  expect(data).toMatchObject({ added: 1000, warnings: [{ code: 'weak_pattern', count: 1048 }] });
  const more = await coupons.add(offer, { pattern: 'SUMMER-********', count: 10 });
  expect(more.data.warnings).toEqual([]);
});

test('removes unassigned codes and does not reuse their positions', async () => {
  await coupons.add(offer, { codes: ['A', 'B', 'C'] });
  expect((await coupons.removeCodes(offer)).data).toMatchObject({ removed: 3, total: 0, left: 0 });
  expect((await coupons.add(offer, { codes: ['A', 'D'] })).data).toMatchObject({ added: 2, left: 2 });
});

test.each([
  [{}, ['/']],
  [{ codes: ['a'], shared: 'b' }, ['/']],
  [{ code: ['a'] }, ['/code', '/']],
  [{ codes: 'a' }, ['/codes']],
  [{ codes: [] }, ['/codes']],
  [{ codes: ['a', 5] }, ['/codes/1']],
  [{ shared: ' ' }, ['/shared']],
  [{ shared: 5 }, ['/shared']],
  [{ pattern: 'A-#####' }, ['/count']],
])('reports the invalid field of %j', async (body, paths) => {
  expect(refusedAt(await coupons.add(offer, body))).toEqual(paths);
});

test('a pool has either individual codes or one shared code, but not both', async () => {
  await coupons.add(offer, { codes: ['A'] });
  expect((await coupons.add(offer, { shared: 'ALL' })).status).toBe(409);
  await coupons.removeCodes(offer);
  expect((await coupons.add(offer, { shared: 'ALL' })).status).toBe(201);
  expect((await coupons.add(offer, { codes: ['B'] })).status).toBe(409);
});

test('reports each invalid setting by name', async () => {
  const body = { give_at: 'never', valid_days: 0, hold_minutes: 'x', low_share: 101, expires_at: 'soon', other: 1 };
  expect(refusedAt(await coupons.change(offer, body)).sort()).toEqual(
    ['/expires_at', '/give_at', '/hold_minutes', '/low_share', '/other', '/valid_days'].sort(),
  );
});

test('rejects a date that does not exist and an empty list of settings without a server error', async () => {
  expect(refusedAt(await coupons.change(offer, { expires_at: '2031-02-30T00:00:00Z' }))).toEqual(['/expires_at']);
  const answer = await t.app.inject({
    method: 'PATCH',
    url: `/manage/v1/offers/${offer}/coupon-pool`,
    headers: { authorization: 'Bearer demo-key', 'content-type': 'application/json' },
    payload: 'null',
  });
  expect([answer.statusCode, answer.json().error.details[0].path]).toEqual([400, '/']);
});

test('does not reveal the codes of another publisher', async () => {
  const { rows } = await t.pool.query<{ id: number }>('select id from offers where publisher_id <> $1 limit 1', [
    t.publisher.id,
  ]);
  for (const id of [rows[0]?.id ?? 0, 999_999, 'x']) {
    const answers = [
      await coupons.add(id, { codes: ['A'] }),
      await coupons.count(id),
      await coupons.change(id, {}),
      await coupons.removeCodes(id),
      await coupons.removePool(id),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  }
});
