import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { csrfTokenOf } from '../../../src/accounts/access.ts';
import { kindTexts } from '../../../src/privacy/pages/desk.ts';
import { runCommand } from '../../command-line/support.ts';
import { postForm, signInAs, type TestUser } from '../../dashboard/support.ts';
import { type DemoServer, startDemoServer } from '../../demo/support.ts';
import { timeLimit } from '../../support/time-limit.ts';

let demo: DemoServer;
let base = '';
beforeAll(async () => {
  demo = await startDemoServer('erasure');
  base = `/dashboard/p/${demo.t.publisher.id}/settings/privacy`;
});
afterAll(() => demo?.close());

async function show(user: string): Promise<void> {
  const url = `/native/v4/offers.json?api_key=${demo.t.publisher.key}`;
  const payload = { placement: 'checkout', pub_user_id: user };
  expect((await demo.app.inject({ method: 'POST', url, payload })).statusCode).toBe(200);
}

const sessionsOf = async (user: string): Promise<number> =>
  (await demo.t.pool.query('select from sessions where pub_user_id = $1', [user])).rowCount ?? 0;

/** Returns the audit log entries about data subjects, newest first. */
const logged = async (): Promise<{ resource: string; actor_kind: string; changes: object }[]> =>
  (
    await demo.t.pool.query(
      "select resource, actor_kind, changes from audit_log where resource in ('erasures', 'exports') order by id desc",
    )
  ).rows;

const post = (user: TestUser, path: string, fields: Record<string, string>) =>
  postForm(
    demo.t,
    path,
    { _csrf: csrfTokenOf(user.cookie.split('=')[1] ?? ''), ...fields },
    { cookie: user.cookie, origin: demo.url },
  );

test.each([
  ['en', 'Sessions', 'Personal data is removed', 'Erase'],
  ['de', 'Sitzungen', 'Personenbezogene Daten werden entfernt', 'Löschen'],
])('in %s, an admin sees what is stored about a person and what an erasure does to it', async (language, ...words) => {
  await show(`person of ${language}`);
  const { cookie } = await signInAs(demo.t, 'admin');
  const fields = {
    _csrf: csrfTokenOf(cookie.split('=')[1] ?? ''),
    identifier: `person of ${language}`,
    named_by: 'pub_user_id',
  };
  const { body } = await postForm(demo.t, base, fields, { cookie, origin: demo.url, 'accept-language': language });
  for (const word of words) expect(body).toContain(word);
});

test('only an admin can see and use the privacy desk', async () => {
  await show('someone');
  for (const role of ['analyst', 'manager'] as const) {
    const user = await signInAs(demo.t, role);
    expect((await user.get(base)).statusCode).toBe(403);
    for (const path of [base, `${base}/export`, `${base}/erase`])
      expect((await post(user, path, { identifier: 'someone', named_by: 'pub_user_id' })).statusCode).toBe(403);
  }
  const admin = await signInAs(demo.t, 'admin');
  expect((await post(admin, base, { identifier: ' ' })).statusCode).toBe(422);
  const page = await post(admin, base, { identifier: 'nobody', named_by: 'ad_fp' });
  expect([page.statusCode, page.headers['cache-control']]).toEqual([200, 'no-store']);
  expect(page.body).toContain('No data is stored for this identifier.');
  expect(await sessionsOf('someone')).toBe(1);
});

test('every kind of exported data has a label on the privacy desk', () => {
  expect(Object.keys(demo.t.contributions.userData.exports).sort()).toEqual(Object.keys(kindTexts).sort());
});

// Long timeout: a command checks only every few seconds whether an erasure is finished.
test('the command line finds, exports, erases and lists as the privacy desk does', {
  timeout: timeLimit(120_000),
}, async () => {
  await show('by command');
  const env = { PERKWIRE_URL: demo.url, PERKWIRE_KEY: demo.t.publisher.key };
  const person = ['--user', 'by command'];
  const result = await runCommand(['privacy', 'find', ...person, '--json'], env);
  expect([result.code, JSON.parse(result.out)]).toEqual([0, expect.objectContaining({ sessions: 1 })]);
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-privacy-'));
  const file = join(folder, 'person.json');
  await writeFile(file, 'from before', { mode: 0o644 });
  expect((await runCommand(['privacy', 'export', file, ...person], env)).code).toBe(0);
  expect([(await stat(file)).mode & 0o777, JSON.parse(await readFile(file, 'utf8')).sessions.length]).toEqual([
    0o600, 1,
  ]);
  await rm(folder, { recursive: true });
  await demo.t.pool.query('update erasures set finished_at = coalesce(finished_at, now())');
  const erased = runCommand(['privacy', 'erase', ...person, '--json'], env);
  await expect.poll(() => sessionsOf('by command')).toBe(0);
  const hurry = "update erasures set swept_at = swept_at - interval '1 min', due_at = now() where finished_at is null";
  await expect.poll(async () => (await demo.t.pool.query(hurry)).rowCount).toBe(1);
  const { code, out } = await erased;
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ status: 'done' })]);
  expect((await runCommand(['privacy', 'requests'], env)).out).toContain(`${JSON.parse(out).id}  done`);
  expect((await runCommand(['privacy', 'find', ...person], env)).code).toBe(1);
  expect((await logged())[1]).toMatchObject({ resource: 'erasures', actor_kind: 'key' });
  expect((await runCommand(['privacy', 'erase'], env)).err).toContain('Expected one of --user ID');
});

test.each([
  ['en', { identifier: ' ' }, 'Identifier</a>: Enter an identifier.'],
  ['de', { identifier: ' ' }, 'Kennung</a>: Geben Sie eine Kennung ein.'],
  [
    'en',
    { identifier: 'x'.repeat(257) },
    'Identifier</a>: The text can be at most 256 characters long, but it has 257.',
  ],
  ['de', { identifier: 'x'.repeat(257) }, 'Kennung</a>: Der Text darf höchstens 256 Zeichen lang sein, hat aber 257.'],
])('in %s, an error message names the field by its label, and the input is kept', async (language, typed, message) => {
  const { cookie } = await signInAs(demo.t, 'admin');
  const token = csrfTokenOf(cookie.split('=')[1] ?? '');
  const headers = { cookie, origin: demo.url, 'accept-language': language };
  const page = await postForm(demo.t, base, { _csrf: token, named_by: 'ad_fp', ...typed }, headers);
  expect(page.statusCode).toBe(422);
  expect(page.body).toContain(message);
  expect(page.body).toContain('<option value="ad_fp" selected>');
  expect(page.body).toContain(`value="${typed.identifier.trim()}"`);
});

test('a person known only by an e-mail hash is found on the privacy desk and by the command line', async () => {
  const call = (method: 'POST' | 'PUT', path: string, payload: object) =>
    demo.app.inject({ method, url: `/manage/v1${path}?api_key=${demo.t.publisher.key}`, payload });
  const emailHash = createHash('sha256').update('ada@shop.example').digest('hex');
  expect((await call('POST', '/audiences', { key: 'by-email', name: 'By e-mail' })).statusCode).toBe(201);
  expect((await call('PUT', '/audiences/by-email/members', { sha256_emails: [emailHash] })).statusCode).toBe(200);
  const admin = await signInAs(demo.t, 'admin');
  for (const [identifier, named_by] of [
    ['Ada@Shop.Example', 'email'],
    [emailHash, 'email_sha256'],
  ] as const) {
    const { body } = await post(admin, base, { identifier, named_by });
    expect(body).toContain('Audiences');
    expect(body).not.toContain('No data is stored');
  }
  const wrong = await post(admin, base, { identifier: 'ada', named_by: 'email' });
  expect([wrong.statusCode, wrong.body.includes('The value must be a single e-mail address.')]).toEqual([422, true]);
  const env = { PERKWIRE_URL: demo.url, PERKWIRE_KEY: demo.t.publisher.key };
  for (const person of [
    ['--email', 'ada@shop.example'],
    ['--email-sha256', emailHash],
  ]) {
    const result = await runCommand(['privacy', 'find', ...person, '--json'], env);
    expect([result.code, JSON.parse(result.out)]).toEqual([0, expect.objectContaining({ audiences: 1 })]);
  }
  const both = await runCommand(['privacy', 'find', '--email', 'ada@shop.example', '--user', 'u1'], env);
  expect([both.code === 0, both.err]).toEqual([false, expect.stringContaining('Expected one of --user ID')]);
});
