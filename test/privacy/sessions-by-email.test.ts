import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { emailKeys } from '../../src/audiences/profile-keys.ts';
import { createUserKeys } from '../../src/platform/security/user-key.ts';
import { signInAs } from '../dashboard/support.ts';
import { addPublisher } from '../perks/wallet/support.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import { fetchOffers } from '../tracking/journey.ts';
import { askErasure, askExport, erase } from './support.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeAll(async () => {
  t = await createTimedApp();
  // Give the publisher an audience that a campaign uses, so that fetches look users up by the hash.
  await manage('POST', '/audiences', { key: 'readers', name: 'Readers' });
  const { id } = (await manage('GET', '/campaigns')).json().data[0];
  const rules = { targeting: { audiences: { exclude: ['readers'] } } };
  expect((await manage('PATCH', `/campaigns/${id}`, { rules })).statusCode).toBe(200);
  await t.deps.catalog.refresh();
});
afterAll(() => t?.close());

const manage = (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object) =>
  t.app.inject({
    method,
    url: `/manage/v1${path}?api_key=${t.publisher.key}`,
    ...(payload !== undefined && { payload }),
  });

/**
 * Sends a fetch that identifies a user by an email hash.
 * @returns the session ID
 */
async function visit(email: string, more: object = {}): Promise<string> {
  const { sessionId: id } = await fetchOffers(t, { email_sha256: sha256(email), ...more });
  t.clock.ms += 1000;
  return id;
}
const sessionsOf = async (identifier: object, key?: string): Promise<string[]> =>
  (await askExport(t, identifier, key))
    .json()
    .data.sessions.map(({ session_id }: { session_id: string }) => session_id);
const decisionOf = async (id: string): Promise<string | null> =>
  (await t.pool.query('select decision from sessions where id = $1', [id])).rows[0].decision;

test.each([
  ['the address', 'ada@shop.example', { email: ' Ada@Shop.Example' }],
  ['the hash', 'bea@shop.example', { email_sha256: sha256('bea@shop.example') }],
])(
  'sessions that identify a person only by an e-mail hash are exported and erased by %s',
  async (_by, email, identifier) => {
    const [first, second] = [await visit(email), await visit(email, { custom_plan: 'gold' })];
    const other = await visit('other@shop.example');
    expect((await sessionsOf(identifier)).sort()).toEqual([first, second].sort());
    const done = await erase(t, identifier);
    expect(done.data).toMatchObject({ status: 'done', erased: { sessions: 2 } });
    expect([await sessionsOf(identifier), await decisionOf(first)]).toEqual([[], null]);
    expect(await decisionOf(other)).toContain('emailKey');
    // A session after the erasure request is a new visit, and is not erased.
    const later = await visit(email);
    expect(await sessionsOf(identifier)).toEqual([later]);
  },
);

test('a session with an e-mail hash and a user ID is found by either', async () => {
  const id = await visit('cleo@shop.example', { pub_user_id: 'cleo-1' });
  expect(await sessionsOf({ email: 'cleo@shop.example' })).toEqual([id]);
  expect(await sessionsOf({ pub_user_id: 'cleo-1' })).toEqual([id]);
});

test('the privacy desk counts the sessions of an address', async () => {
  await visit('dora@shop.example');
  const admin = await signInAs(t, 'admin');
  const path = `/dashboard/p/${t.publisher.id}/settings/privacy`;
  const page = await admin.post(path, { named_by: 'email', identifier: 'dora@shop.example' });
  expect(page.body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')).toMatch(/Sessions 1\b/);
});

test('another publisher finds and erases no session by the same address', async () => {
  const id = await visit('ella@shop.example');
  const { publisher: other } = await addPublisher(t);
  expect(await sessionsOf({ email: 'ella@shop.example' }, other.key)).toEqual([]);
  await askErasure(t, { email: 'ella@shop.example' }, other.key);
  await erase(t, { email: 'nobody@shop.example' });
  expect(await sessionsOf({ email: 'ella@shop.example' })).toEqual([id]);
});

test('values of a fetch cannot be mistaken for the key of an address', async () => {
  const userKeys = createUserKeys(t.deps.config.userPepper, t.deps.config.earlierPeppers);
  const [key] = emailKeys(userKeys, t.publisher.id, sha256('fay@shop.example'));
  const text = `"emailKey":"${key}"`;
  const fetched = await fetchOffers(t, {
    custom_note: text,
    pub_user_id: 'fay-1',
    ua: text,
    language: text,
    ad_fp: text,
  });
  expect(await sessionsOf({ email: 'fay@shop.example' })).toEqual([]);
  expect(await sessionsOf({ ad_fp: text })).toEqual([fetched.sessionId]);
});

test('sessions are found through an index in every partition, including later ones', async () => {
  const { rows } = await t.pool.query<{ without: number; valid: boolean }>(
    `select count(*) filter (where not exists (
        select from pg_index x join pg_inherits c on c.inhrelid = x.indexrelid
        where x.indrelid = i.inhrelid and c.inhparent = 'sessions_email_key'::regclass
      ))::integer as without,
      (select indisvalid from pg_index where indexrelid = 'sessions_email_key'::regclass) as valid
    from pg_inherits i where inhparent = 'sessions'::regclass`,
  );
  expect(rows).toEqual([{ without: 0, valid: true }]);
});
