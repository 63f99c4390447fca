import { afterAll, beforeAll, expect, test } from 'vitest';
import { setLanguage } from '../../src/accounts/users.ts';
import { errorsIn, signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());

test.each([
  [
    ...(['en', 'Enter user IDs or choose a file first.'] as const),
    ...([
      'No members were added because no row could be read. Line 1: The ID is invalid. The value must not be an',
      'The first value contains no digits',
    ] as const),
  ],
  [
    'de',
    'Geben Sie zuerst Nutzer-IDs ein',
    'keine Zeile lesbar ist. Zeile 1: Die ID ist ungültig. Der Wert darf',
    'Der erste Wert enthält keine Ziffern, die übrigen Werte schon',
  ],
] as const)('reports ids that cannot be added by line number (locale %s)', async (language, none, bad, unsure) => {
  const me = await signInAs(t, 'admin');
  await setLanguage(t.pool, me.userId, language);
  const base = `/dashboard/p/${t.publisher.id}/audiences`;
  const key = `list-${language}`;
  await me.post(base, { key, name: 'List' });
  const add = async (ids: string): Promise<string[]> =>
    errorsIn((await me.post(`${base}/${key}/members`, { ids })).body);
  expect(await add('')).toEqual([expect.stringContaining(none)]);
  expect(await add('me@mail.example\nyou@mail.example')).toEqual([expect.stringContaining(bad)]);
  expect(await add('Kennung\nu-1\nu-2')).toEqual([expect.stringContaining(unsure)]);
});
