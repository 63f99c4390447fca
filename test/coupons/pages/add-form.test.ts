import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
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
async function send(language: string, fields: Record<string, string>, file = '') {
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
  ['en', 'Choose a file, enter a pattern, or enter one code for all users. Use only one of them.'],
  [
    'de',
    'Wählen Sie eine Datei, geben Sie ein Muster oder einen Code für alle Nutzer ein. Nur eines davon ist möglich.',
  ],
])('a form with no codes or several sources of codes explains the options (locale %s)', async (language, message) => {
  expect(await add(language, {})).toEqual([message]);
  expect(await add(language, { count: '5' })).toEqual([message]);
  expect(await add(language, { shared: 'ONE', pattern: 'MANY-****', count: '5' })).toEqual([message]);
  expect(await add(language, { shared: 'ONE' }, 'A-1\nB-2\n')).toEqual([message]);
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
