import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestModules, type TestBase } from '../support/test-modules.ts';
import { couponCalls } from './support.ts';

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

type CodesResponse = { status: number; code: string | undefined; data: Record<string, unknown> };

async function send(text: string | Buffer, query = ''): Promise<CodesResponse> {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/manage/v1/offers/${offer}/coupon-codes${query}`,
    headers: { authorization: 'Bearer demo-key', 'content-type': 'text/csv' },
    payload: text,
  });
  const { data, error } = answer.json();
  return { status: answer.statusCode, code: error?.code, data };
}

/** Returns the codes of a file as a dry run reads them. */
async function codesOf(text: string | Buffer, query = ''): Promise<string[]> {
  const { status, data } = await send(text, `?dry_run=true${query}`);
  expect([status, data]).toEqual([200, expect.anything()]);
  return (data.sample as { values: { code: string } }[]).map(({ values }) => values.code);
}

describe('a column heading in a shop file is not loaded as a code', () => {
  test.each([
    'Discount code',
    'Voucher',
    'Coupon Code',
    'promo_code',
    'Gutscheincode',
    'GUTSCHEIN-CODE',
    'Rabattcode',
    'Codes',
  ])('%s', async (heading) => {
    expect(await codesOf(`${heading}\nE1\nE2`)).toEqual(['E1', 'E2']);
    expect(await codesOf(`id;${heading}\r\n1;E1\r\n2;E2`)).toEqual(['E1', 'E2']);
  });

  test.each(['Benefit\nE1\nE2', 'My codes 2031\nE1\nE2', 'Kod rabatowy\nE1\nE2'])('%j is ambiguous', async (text) => {
    expect(await send(text)).toMatchObject({ status: 400, code: 'ambiguous_header' });
    expect(await codesOf(text, '&header=present')).toEqual(['E1', 'E2']);
    expect((await codesOf(text, '&header=absent')).length).toBe(3);
  });

  test('several columns without a known heading are rejected, unless the call names one', async () => {
    const text = 'Nr.;Wert\n1;E1\n2;E2';
    expect(await send(text)).toMatchObject({ status: 400, code: 'unknown_header' });
    expect(await codesOf(text, '&column=Wert')).toEqual(['E1', 'E2']);
    expect(await codesOf(text, '&column=2&header=present')).toEqual(['E1', 'E2']);
  });
});

test.each([
  ['CR line endings', 'code\rE1\rE2\r'],
  ['a sep= line and a second column', 'sep=;\r\ncode;x\r\nE1;1\r\nE2;2'],
  ['tabs and UTF-16 encoding', Buffer.from('\uFEFFcode\tx\r\nE1\t1\r\nE2\t2\r\n', 'utf16le')],
  ['apostrophe prefixes', "code\n'E1\n'E2"],
  ['text formulas', 'code\n="E1"\n"=""E2"""'],
])('codes are read from a file with %s', async (_kind, text) => {
  expect(await codesOf(text)).toEqual(['E1', 'E2']);
  expect((await send(text)).data).toMatchObject({ added: 2, total: 2, bad: 0 });
});

test.each([
  ['an unquoted separator', 'E1,2'],
  ['a zero-width space', 'E\u200B1'],
  ['a byte order mark', '\uFEFFE1'],
  ['a replacement character', 'E\uFFFD1'],
  ['a character in another encoding', Buffer.from('code\nE1\nMüller\n', 'latin1')],
  ['a trailing non-breaking space', 'E1\u00A0'],
  ['a control character', 'E\u00071'],
  ['a line break', '"E1\nE2"'],
  ['a spreadsheet error', '#N/A'],
  ['a number in scientific notation', '1,23457E+12'],
  ['a stray quote', 'E1"'],
])('a code with %s is rejected with its line', async (_kind, code) => {
  const text = Buffer.isBuffer(code) ? code : `code\nE0\n${code}\nE9`;
  const { data } = await send(text, '?dry_run=true');
  expect((data.errors as { line: number }[])[0]?.line).toBe(3);
  expect((await send(text)).status).toBe(400);
  expect((await coupons.count(offer)).data).toMatchObject({ total: 0 });
});

test('up to 1% of invalid rows are skipped, and with more the file is rejected unless ?partial=true', async () => {
  const codes = (bad: number) => Array.from({ length: 200 }, (_, at) => (at < bad ? `B${at},x` : `C${at}`)).join('\n');
  expect((await send(`code\n${codes(3)}`)).status).toBe(400);
  expect((await send(`code\n${codes(3)}`, '?partial=true')).data).toMatchObject({ added: 197, bad: 3 });
  await coupons.removePool(offer);
  expect((await send(`code\n${codes(2)}`)).data).toMatchObject({
    added: 198,
    bad: 2,
    errors: [{ line: 2 }, { line: 3 }],
  });
});

test('a dry run describes the file, counts duplicates in file and pool, and writes nothing', async () => {
  await coupons.add(offer, { codes: ['E1'] });
  const { data } = await send("Voucher;Valid\nE1;x\nE2;x\n'E2;x\nE3;x", '?dry_run=true');
  expect(data).toMatchObject({
    separator: ';',
    header: true,
    rows: 4,
    bad: 0,
    duplicates: 2,
    columns: [
      { name: 'Voucher', used_as: 'code' },
      { name: 'Valid', used_as: null },
    ],
    warnings: [
      { code: 'apostrophes_removed', count: 1 },
      { code: 'columns_ignored', count: 1 },
    ],
  });
  expect((await coupons.count(offer)).data).toMatchObject({ total: 1 });
  const json = await t.app.inject({
    method: 'POST',
    url: `/manage/v1/offers/${offer}/coupon-codes?dry_run=true`,
    headers: { authorization: 'Bearer demo-key' },
    payload: { codes: ['E7'] },
  });
  expect(json.statusCode).toBe(400);
});
