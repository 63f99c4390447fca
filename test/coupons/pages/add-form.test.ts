import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { csrfTokenOf } from '../../../src/accounts/access.ts';
import { errorsIn, origin, signInAs, type TestUser } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let me: TestUser;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await signInAs(t, 'manager');
});

/** Submits the form like a browser, which sends an empty file if the user chose none. */
async function send(language: string, fields: Record<string, string>, file = '', headers = {}) {
  const form = new FormData();
  const token = me.cookie.split('=')[1] ?? '';
  for (const [name, value] of Object.entries({
    _csrf: csrfTokenOf(token),
    shared: '',
    pattern: '',
    count: '',
    ...fields,
  }))
    form.append(name, value);
  form.append('codes_file', new File([file], file === '' ? '' : 'codes.csv', { type: 'text/csv' }));
  const body = new Response(form);
  return t.app.inject({
    method: 'POST',
    url: `/dashboard/p/${t.publisher.id}/offers/1/coupons/add`,
    headers: {
      origin,
      cookie: me.cookie,
      'accept-language': language,
      'content-type': body.headers.get('content-type') ?? '',
      ...headers,
    },
    payload: Buffer.from(await body.arrayBuffer()),
  });
}

async function add(...parameters: Parameters<typeof send>): Promise<string[]> {
  const answer = await send(...parameters);
  expect(answer.statusCode).toBe(422);
  expect(answer.body).toContain('href="#f-codes_file"');
  return errorsIn(answer.body);
}

test.each([
  ['en', 'Choose a file or paste the codes.'],
  ['de', 'Wählen Sie eine Datei aus oder fügen Sie die Codes ein.'],
])('a form without a file, pattern or code says what is missing (locale %s)', async (language, message) => {
  expect(await add(language, {})).toEqual([message]);
  expect(await add(language, { source: 'file', shared: 'ONE', pattern: 'MANY-****', count: '5' })).toEqual([message]);
  expect(errorsIn((await send(language, { source: 'pattern' })).body)).toHaveLength(2);
  expect(errorsIn((await send(language, { source: 'shared' })).body)).toHaveLength(1);
});

test('only the chosen source of codes is used, whatever the fields of the others contain', async () => {
  const fields = { shared: 'ONE', pattern: 'MANY-********', count: '5' };
  expect((await send('en', { ...fields, source: 'pattern' }, 'A-1\nB-2\n')).statusCode).toBe(303);
  const { rows } = await t.pool.query(
    'select last_position - next_position + 1 as left from coupon_stock where offer_id = 1',
  );
  expect(rows[0].left).toBe('5');
  await t.pool.query('delete from coupon_pools');
});

test.each([
  ['en', 'These codes are easy to guess: 1 in 100 random codes is valid.', 'Add these codes anyway'],
  ['de', 'erraten', 'Diese Codes trotzdem hinzufügen'],
])('a guessable pattern must be confirmed, and the page keeps saying so (locale %s)', async (language, text, label) => {
  const fields = { source: 'pattern', pattern: 'SAVE-###', count: '10' };
  const question = await send(language, fields);
  expect(question.statusCode).toBe(422);
  expect(question.body).toContain(text);
  expect(question.body).toContain(label);
  expect((await t.pool.query('select from coupon_pools')).rowCount).toBe(0);
  expect((await send(language, { ...fields, guessable: 'on' })).statusCode).toBe(303);
  const page = () => me.get(`/dashboard/p/${t.publisher.id}/offers/1`, { 'accept-language': language });
  expect((await page()).body).toContain(text);
  const typed = new URLSearchParams({ pattern: 'SAVE-###', count: '10' });
  const preview = await me.get(`/dashboard/p/${t.publisher.id}/offers/1/coupons/pattern?${typed}`);
  expect(preview.body).toContain('easy to guess: 1 in 50');
  await me.post(`/dashboard/p/${t.publisher.id}/offers/1/coupons/remove-codes`);
  expect((await page()).body).not.toContain(text);
  await t.pool.query('delete from coupon_pools');
});

test('the form says that a long pattern is hard to guess, and what is wrong with a short one', async () => {
  const preview = async (pattern: string, count: string) =>
    (await me.get(`/dashboard/p/${t.publisher.id}/offers/1/coupons/pattern?${new URLSearchParams({ pattern, count })}`))
      .body;
  expect(await preview('SAVE-********', '10')).toContain('Hard to guess: only 1 in 110bn possible codes');
  expect(await preview('SAVE-#', '10')).toContain('notice failed');
  expect(await preview('', '')).toBe('');
});

test('a file can be imported only after its own dry run was shown', async () => {
  const checked = (body: string): string => /name="checked" value="(\w+)"/.exec(body)?.[1] ?? '';
  const file = 'Voucher\nA-1\nB-2\n';
  const preview = await send('en', {}, file);
  expect(preview.statusCode).toBe(200);
  expect(preview.body).toContain('Import 2 rows');
  const other = await send('en', { checked: checked(preview.body) }, 'Voucher\nC-3\n');
  expect(other.statusCode).toBe(200);
  expect(other.body).toContain('Import 1 row');
  const count = async () => (await t.pool.query('select count(*)::int as count from coupon_blocks')).rows[0].count;
  expect(await count()).toBe(0);
  expect((await send('en', { checked: checked(preview.body) }, file)).statusCode).toBe(303);
  expect(await count()).toBe(1);
});

test.each([
  ['en', 'Line 2: The code can be at most 200 characters long, but it has 201.'],
  ['de', 'Zeile 2: Der Code darf höchstens 200 Zeichen lang sein, hat aber 201.'],
])('an invalid line in a file is reported, and nothing can be imported (locale %s)', async (language, text) => {
  const { body } = await send(language, {}, `A-1\n${'x'.repeat(201)}\n`);
  expect(body).toContain(text);
  expect(body).not.toContain('name="checked"');
});

describe('pasted codes', () => {
  const checkedIn = (body: string): string => /name="checked" value="(\w+)"/.exec(body)?.[1] ?? '';

  test('are read like a file, and stay in the form until they are added', async () => {
    await t.pool.query('delete from coupon_pools');
    const codes = '\r\n Voucher;Note\r\nP-1;first\r\nP-2;second\r\n';
    const preview = await send('en', { source: 'file', codes });
    expect(preview.statusCode).toBe(200);
    expect(preview.body).toContain('Import 2 rows');
    expect(preview.body).toContain('P-2;second');
    expect(preview.body).not.toContain('Choose the file again');
    expect((await send('en', { codes: `${codes}P-3;third`, checked: checkedIn(preview.body) })).body).toContain(
      'Import 3 rows',
    );
    expect((await send('en', { codes, checked: checkedIn(preview.body) })).statusCode).toBe(303);
    const { rows } = await t.pool.query(
      'select last_position - next_position + 1 as left from coupon_stock where offer_id = 1',
    );
    expect(rows).toEqual([{ left: '2' }]);
  });

  test.each([
    ['en', 'Line 3: The code can be at most 200 characters long, but it has 201.'],
    ['de', 'Zeile 3: Der Code darf höchstens 200 Zeichen lang sein, hat aber 201.'],
  ])('have errors with the line of the text area, also after an empty line (locale %s)', async (language, text) => {
    const { body } = await send(language, { codes: `\nA-1\n${'x'.repeat(201)}\n` });
    expect(body).toContain(text);
    expect(checkedIn(body)).toBe('');
  });

  test.each([
    ['en', 'You chose a file and pasted codes. Remove one of them.'],
    ['de', 'Sie haben eine Datei ausgewählt und Codes eingefügt. Entfernen Sie eines von beiden.'],
  ])('are refused together with a file, also if the form is only checked (locale %s)', async (language, text) => {
    const answer = await send(language, { source: 'file', codes: 'A-1' }, 'B-2\n');
    expect(answer.statusCode).toBe(422);
    expect(errorsIn(answer.body)).toEqual([text]);
    expect(answer.body).toContain('href="#f-codes"');
    const fragment = await send(language, { source: 'file', codes: 'A-1' }, 'B-2\n', { 'hx-request': 'true' });
    expect(fragment.body).toContain(text);
    expect(fragment.body).not.toContain('<html');
  });

  test('are neither added nor checked if another source is chosen', async () => {
    await t.pool.query('delete from coupon_pools');
    expect((await send('en', { source: 'shared', shared: 'ALL', codes: 'A-1\nA-2' })).statusCode).toBe(303);
    const { rows } = await t.pool.query('select shared_code from coupon_pools where offer_id = 1');
    expect(rows).toEqual([{ shared_code: 'ALL' }]);
    await t.pool.query('delete from coupon_pools');
  });
});
