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

/** Submits the form as a browser does: with a file, of which an empty one means that none was chosen. */
async function add(language: string, fields: Record<string, string>, file = ''): Promise<string[]> {
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
  const answer = await t.app.inject({
    method: 'POST',
    url: `/dashboard/p/${t.publisher.id}/offers/1/coupons/add`,
    headers: {
      ...{ origin, cookie: me.cookie, 'accept-language': language },
      'content-type': body.headers.get('content-type') ?? '',
    },
    payload: Buffer.from(await body.arrayBuffer()),
  });
  expect(answer.statusCode).toBe(422);
  expect(answer.body).toContain('href="#f-codes_file"');
  return errorsIn(answer.body);
}

test.each([
  ['en', 'Choose a file, or fill in one of the two: a pattern, or one code for all users.'],
  ['de', 'Wählen Sie eine Datei oder füllen Sie eines von beiden aus: ein Muster oder einen Code für alle.'],
])('a form that gives no codes, or some in two ways, says in %s what it takes', async (language, message) => {
  expect(await add(language, {})).toEqual([message]);
  expect(await add(language, { count: '5' })).toEqual([message]);
  expect(await add(language, { shared: 'ONE', pattern: 'MANY-****', count: '5' })).toEqual([message]);
  expect(await add(language, { shared: 'ONE' }, 'A-1\nB-2\n')).toEqual([message]);
});

test('a line of a file that cannot be a code is named at the file', async () => {
  const long = `A-1\n${'x'.repeat(201)}\n`;
  expect(await add('en', {}, long)).toEqual(['Line 2: has 201 characters; a code may have 200.']);
  expect(await add('de', {}, long)).toEqual(['Zeile 2: hat 201 Zeichen; ein Code darf 200 haben.']);
});
