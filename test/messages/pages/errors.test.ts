import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeOldContents } from '../../../src/messages/store.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());

const add = (state: string, error: string | null, keepUntil: Date | null = null) => {
  const id = newUuid7(Date.now());
  return t.pool.query(
    `insert into perk_messages (id, publisher_id, session_id, user_key, state, error, created_at, keep_until)
    values ($1, $2, $1, gen_random_uuid(), $3, $4, $5, $6)`,
    [id, t.publisher.id, state, error, new Date(), keepUntil],
  );
};

/** Texts that the code stores as the error of a message. */
function storedErrors(): string[] {
  const folder = new URL('../../../src/messages/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  const texts = files.flatMap((name) =>
    [...readFileSync(new URL(name, folder), 'utf8').matchAll(/error: (?:'([^']+)'|`([^`]+)`)/g)].map(
      ([, plain, template]) => plain ?? template?.replaceAll(/\$\{[^}]*\}/g, '550') ?? '',
    ),
  );
  return [...new Set(texts)];
}

test('the list of mails says in the language of the reader why one failed', async () => {
  const errors = storedErrors();
  expect(errors.length).toBeGreaterThan(7);
  for (const error of errors) await add('failed', error);
  await add('unconfirmed', null, new Date(0));
  await removeOldContents(t.pool, Date.now());
  const admin = await signInAs(t, 'admin');
  const page = `/dashboard/p/${t.publisher.id}/settings/perk-messages`;
  const english = (await admin.get(page)).body;
  const german = (await admin.get(page, { 'accept-language': 'de' })).body;
  for (const error of [...errors, 'the address was not confirmed']) {
    expect(english).toContain(error);
    expect(german).not.toContain(error);
  }
  expect(german).toContain('der Mailserver hat mit 550 geantwortet');
  expect(german).toContain('die Adresse wurde nicht bestätigt');
});
