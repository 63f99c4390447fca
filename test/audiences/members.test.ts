import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { deleteEndedMembers, deleteOrphanedMembers } from '../../src/audiences/members/members.ts';
import { secondSweepMs } from '../../src/privacy/erasures.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { eraseNext, tablesWith } from '../privacy/support.ts';

let t: ManagementApp;
let me: Caller;
let ids: Record<string, number>;
const clock = { ms: Date.now() };
beforeAll(async () => {
  t = await createManagementApp({ now: () => clock.ms });
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  ids = await addCatalogue(me);
  for (const key of ['customers', 'vips', 'newsletter'])
    expect((await me.call('POST', '/audiences', { key, name: `The ${key}` })).status).toBe(201);
});

const rules = (targeting: object, more: object = {}) =>
  me.call('PATCH', `/campaigns/${ids.campaign}`, { rules: { targeting: { audiences: targeting }, ...more } });

async function fetched(body: object = {}) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${me.key}`,
    payload: { placement: 'checkout', ip: '203.0.113.9', pub_user_id: 'u1', ...body },
  });
  expect([answer.statusCode, answer.body]).toEqual([200, expect.not.stringContaining('customers')]);
  return answer.json().data as { session_id: string; offers: { id: number }[] };
}
const countOffers = async (body: object = {}) => (await fetched(body)).offers.length;
const add = (key: string, body: object) => me.call('PUT', `/audiences/${key}/members`, body);
const remove = (key: string, body: object) => me.call('DELETE', `/audiences/${key}/members`, body);
const sizeOf = async (key: string) => (await me.call('GET', `/audiences/${key}`)).body.data.size;
const hashOf = (email: string) => createHash('sha256').update(email).digest('hex');

const caps = { frequency_caps: [{ scope: 'campaign', event: 'click', limit: 5, window_minutes: null }] };
const totals = { total_caps: [{ metric: 'impressions', per: 'lifetime', limit: 100 }] };

test.each([{}, caps, totals, { ...caps, ...totals }])(
  'campaigns include or exclude members from the next fetch on, and are re-decided (rules %o)',
  async (more) => {
    expect((await rules({ include: ['vips', 'newsletter'], exclude: ['customers'] }, more)).status).toBe(200);
    expect(await countOffers()).toBe(0);
    expect((await add('vips', { ids: ['u1', 'u2', 'u2', 7] })).body.data).toEqual({ key: 'vips', added: 3, size: 3 });
    const first = await fetched();
    expect(first.offers).toHaveLength(1);
    expect([
      await countOffers({ pub_user_id: 'u3' }),
      await countOffers({ pub_user_id: 7 }),
      await countOffers({ ad_fp: 'x' }),
    ]).toEqual([0, 1, 1]);
    await add('customers', { ids: ['u1'] });
    const second = await fetched();
    expect(second.offers).toHaveLength(0);
    expect((await remove('customers', { ids: ['u1', 'nobody'] })).body.data).toEqual({
      key: 'customers',
      removed: 1,
      size: 0,
    });
    expect(await countOffers()).toBe(1);
    expect(await countOffers({ consent: 0 })).toBe(0);
    for (const { session_id } of [first, second])
      expect((await me.call('GET', `/sessions/${session_id}/decision`)).body.data.identical).toBe(true);
  },
);

test('memberships end at their expiry, and audience sizes follow', async () => {
  await rules({ exclude: ['customers'] });
  await add('customers', { ids: ['u1'], expires_at: new Date(clock.ms + 60_000).toISOString() });
  await add('customers', { ids: ['u2'] });
  expect(await countOffers()).toBe(0);
  clock.ms += 60_001;
  expect(await countOffers()).toBe(1);
  await deleteAsConnectionEnds();
  expect(await deleteEndedMembers(t.pool, clock.ms)).toBe(false);
  expect(await sizeOf('customers')).toBe(1);
});

/** Deletes expired members over a connection that breaks before the audience sizes are updated. */
async function deleteAsConnectionEnds(): Promise<void> {
  await t.pool.query(`create function fail() returns trigger language plpgsql as
    $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`);
  await t.pool.query('create trigger fail after update on audience_sizes for each row execute function fail()');
  await expect(deleteEndedMembers(t.pool, clock.ms)).rejects.toThrow();
  await t.pool.query('drop function fail cascade');
}

test('e-mail hashes match email_sha256, are stored as keyed hashes, and are erased with the user', async () => {
  await rules({ include: ['newsletter'] });
  const hash = hashOf('me@mail.example');
  await add('newsletter', { sha256_emails: [hash.toUpperCase()] });
  expect([
    await countOffers({ email_sha256: hash }),
    await countOffers({ email_sha256: hashOf('x') }),
    await countOffers(),
  ]).toEqual([1, 0, 0]);
  expect(await countOffers({ email_sha256: hash, consent: 0 })).toBe(0);
  expect(await tablesWith(t, hash)).toEqual([]);
  const exported = await me.call('POST', '/privacy/export', { pub_user_id: 'u1' });
  expect(exported.body.data.audiences).toMatchObject([{ audience: 'newsletter' }]);
  await me.call('DELETE', '/users/u1');
  while (await eraseNext(t));
  clock.ms += secondSweepMs;
  while (await eraseNext(t));
  expect([await countOffers({ email_sha256: hash }), await sizeOf('newsletter')]).toEqual([0, 0]);
  const ignored = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${me.key}`,
    payload: { placement: 'checkout', email_sha256: 'me@mail.example' },
  });
  expect(ignored.statusCode).toBe(200);
});

test('explanations name the audience that decided', async () => {
  await rules({ include: ['vips'], exclude: ['customers'] });
  const explain = async () => {
    const { body } = await me.call('POST', '/explain', { placement: 'checkout', pub_user_id: 'u1' });
    const [offer] = body.data.offers as unknown as { rule: string; reason: string }[];
    return [offer?.rule, offer?.reason];
  };
  expect(await explain()).toEqual(['audience', 'The user is in none of the campaign’s audiences: vips.']);
  await add('customers', { ids: ['u1'] });
  expect(await explain()).toEqual(['audience', 'The user is in an audience that the campaign excludes: customers.']);
});

test('64 concurrent changes lose no acknowledged change', async () => {
  const users = Array.from({ length: 20 }, (_, index) => `u${index}`);
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      add('vips', { ids: users.slice(index % 10).toSorted(() => (index % 2 === 0 ? 1 : -1)) }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(answers.reduce((sum, { body }) => sum + (body.data.added as number), 0)).toBe(20);
  expect(await sizeOf('vips')).toBe(20);
  await Promise.all([
    ...users.map((id) => remove('vips', { ids: [id] })),
    ...users.map((id) => add('customers', { ids: [id] })),
  ]);
  expect([await sizeOf('vips'), await sizeOf('customers')]).toEqual([0, 20]);
});

test('invalid members are reported by name, and the whole call is rejected', async () => {
  const refusal = ({ status, body }: Awaited<ReturnType<typeof add>>) => {
    const { error } = body as unknown as { error: { code: string; details?: { path: string }[] } };
    return [status, error.code, error.details?.map(({ path }) => path)];
  };
  expect(refusal(await add('vips', { ids: ['fine', 'me@mail.example'] }))).toEqual([
    ...[400, 'pub_user_id_is_pii'],
    ['/ids/1'],
  ]);
  expect(refusal(await add('vips', { ids: [''], sha256_emails: ['abc', 'me@mail.example'] }))).toEqual([
    ...[400, 'invalid_request'],
    ['/ids/0', '/sha256_emails/0', '/sha256_emails/1'],
  ]);
  expect(refusal(await add('vips', {}))).toEqual([400, 'invalid_request', ['/']]);
  expect(refusal(await add('vips', { ids: ['x'], expires_at: 'soon' }))).toEqual([
    ...[400, 'invalid_request'],
    ['/expires_at'],
  ]);
  expect(refusal(await add('nobody', { ids: ['x'] }))).toEqual([404, 'resource_not_found', undefined]);
  expect(await sizeOf('vips')).toBe(0);
  expect(refusal(await me.call('POST', '/audiences', { key: 'VIPs', name: 'Again' }))).toEqual([
    ...[409, 'conflict'],
    ['/key'],
  ]);
  expect(refusal(await me.call('POST', '/audiences', { key: '!', name: '' }))[2]).toEqual(['/key', '/name']);
  expect(refusal(await rules({ include: ['vips', 'unknown'], exclude: ['vips'] }))).toEqual([
    ...[400, 'invalid_request'],
    ['/rules/targeting/audiences/exclude/0', '/rules/targeting/audiences/include/1'],
  ]);
});

test('an audience that a campaign uses cannot be removed, and any other is removed with its members', async () => {
  await rules({ exclude: ['vips'] });
  const refusal = await me.call('DELETE', '/audiences/vips');
  expect([refusal.status, (refusal.body as unknown as { error: { code: string } }).error.code]).toEqual([
    409,
    'in_use',
  ]);
  await add('customers', { ids: ['u1'] });
  const { rows } = await t.pool.query<{ id: number }>(
    "select id from audiences where publisher_id = $1 and key = 'customers'",
    [me.publisherId],
  );
  expect((await me.call('DELETE', '/audiences/customers')).status).toBe(204);
  while (await deleteOrphanedMembers(t.pool));
  await deleteOrphanedMembers(t.pool);
  const remaining = await t.pool.query('select from audience_members where audience_id = $1', [rows[0]?.id]);
  expect(remaining.rows).toEqual([]);
  expect((await me.call('POST', '/audiences', { key: 'customers', name: 'Again' })).body.data.size).toBe(0);
});

test("a publisher's audiences are unknown to other publishers and in their campaigns", async () => {
  const other = await t.caller(await t.addPublisher());
  expect((await other.call('GET', '/audiences/vips')).status).toBe(404);
  expect((await other.call('PUT', '/audiences/vips/members', { ids: ['u1'] })).status).toBe(404);
  expect((await other.call('GET', '/audiences')).body.data).toEqual([]);
  await other.call('POST', '/audiences', { key: 'vips', name: 'Others' });
  await other.call('PUT', '/audiences/vips/members', { ids: ['u1'] });
  await rules({ include: ['vips'] });
  const path = `/campaigns/${ids.campaign}/publishers/${other.publisherId}`;
  await t.operator.call('PUT', `${path}?publisher_id=${me.publisherId}`, { active: true });
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${other.key}`,
    payload: { placement: 'checkout', pub_user_id: 'u1' },
  });
  expect(answer.json().data.offers).toEqual([]);
  expect(await countOffers()).toBe(0);
});

test('the form keeps the entered IDs if none is valid', async () => {
  const admin = await signInAs(t, 'admin', me.publisherId);
  const pasted = 'one@mail.example\ntwo@mail.example';
  const path = `/dashboard/p/${me.publisherId}/audiences/customers/members`;
  const answer = await admin.post(path, { ids: pasted });
  expect(answer.statusCode, answer.body).toBe(422);
  expect(answer.body.replaceAll('\r', '')).toContain(`${pasted}</textarea>`);
  expect(answer.body).toContain('No members were added because no row could be read.');
  expect((await admin.post(path, { ids: ' ' })).statusCode).toBe(422);
});
