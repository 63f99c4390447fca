import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeOldContents } from '../../../src/messages/store.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { Problem, type ProblemKey, storedProblem } from '../../../src/platform/problem.ts';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());

const add = (state: string, error: string | null, keepUntil: Date | null = null) => {
  const id = newUuid7(t.deps.now());
  return t.pool.query(
    `insert into perk_messages (id, publisher_id, session_id, user_key, state, error, created_at, keep_until)
    values ($1, $2, $1, gen_random_uuid(), $3, $4, $5, $6)`,
    [id, t.publisher.id, state, error, new Date(), keepUntil],
  );
};

/** Returns the problems that the code stores as message errors. */
function storedErrors(): Problem[] {
  const folder = new URL('../../../src/messages/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  const keys = files.flatMap((name) =>
    [...readFileSync(new URL(name, folder), 'utf8').matchAll(/error: problem\('(\w+)'/g)].map(([, key = '']) => key),
  );
  return [...new Set(keys)].map((key) => new Problem(`apiTexts.${key as ProblemKey}`, { code: 550 }));
}

test("the message list explains a failed message in the reader's language", async () => {
  const errors = storedErrors();
  expect(errors.length).toBeGreaterThan(7);
  for (const error of errors) await add('failed', storedProblem(error));
  await add('failed', 'a text of an earlier release');
  await add('unconfirmed', null, new Date(0));
  await removeOldContents(t.pool, t.deps.now());
  const admin = await signInAs(t, 'admin');
  const page = `/dashboard/p/${t.publisher.id}/settings/perk-messages`;
  const english = (await admin.get(page)).body;
  const german = (await admin.get(page, { 'accept-language': 'de' })).body;
  for (const error of [...errors.map(String), 'The recipient has not confirmed the e-mail address.']) {
    expect(english).toContain(error);
    expect(german).not.toContain(error);
  }
  expect(german).toContain('Der Mailserver hat mit 550 geantwortet.');
  expect(german).toContain('Der Empfänger hat die E-Mail-Adresse nicht bestätigt.');
});
