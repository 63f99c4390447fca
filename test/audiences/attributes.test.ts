import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
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
});

const rules = (rules: object) => me.call('PATCH', `/campaigns/${ids.campaign}`, { rules });
const gold = { conditions: { key: 'plan', op: 'equals', value: 'gold' } };

async function fetched(body: object = {}) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${me.key}`,
    payload: { placement: 'checkout', ip: '203.0.113.9', pub_user_id: 'u1', ...body },
  });
  expect(answer.statusCode).toBe(200);
  return answer.json().data as { session_id: string; offers: { id: number; title: string }[] };
}
const fetchOfferIds = async (body: object = {}) => (await fetched(body)).offers.map(({ id }) => id);

const decision = (session: string) => me.call('GET', `/sessions/${session}/decision`);

/** Decision data is stored shortly after the response, so this polls for it. */
const identical = async (session: string) => {
  await expect.poll(() => decision(session).then(({ status }) => status)).toBe(200);
  return (await decision(session)).body.data.identical;
};

// For campaigns with user caps, one statement reads the history together with the attributes. Otherwise, the attributes
// are read separately.
const caps = [{}, { frequency_caps: [{ scope: 'campaign', event: 'click', limit: 5, window_minutes: null }] }];
const totals = { total_caps: [{ metric: 'impressions', per: 'lifetime', limit: 100 }] };

test.each([...caps, totals, { ...caps[1], ...totals }])(
  'attributes apply from the next fetch until they expire or are removed, and are re-decided (rules %o)',
  async (more) => {
    expect((await rules({ ...gold, ...more })).status).toBe(200);
    expect(await fetchOfferIds()).toEqual([]);
    const put = await me.call('PUT', '/users/u1', { attributes: { plan: 'gold', age: 41, vip: true } });
    expect([put.status, put.body.data]).toEqual([
      200,
      { pub_user_id: 'u1', attributes: { plan: 'gold', age: 41, vip: true }, expires_at: {} },
    ]);
    const first = await fetched();
    expect(first.offers.map(({ id }) => id)).toEqual([ids.offer]);
    expect(await fetchOfferIds({ pub_user_id: 'u2' })).toEqual([]);
    expect(await fetchOfferIds({ ad_fp: 'some device' })).toEqual([ids.offer]);
    expect(await fetchOfferIds({ plan: 'free' })).toEqual([]);
    expect(await fetchOfferIds({ consent: 0 })).toEqual([]);
    const until = new Date(clock.ms + 60_000).toISOString();
    const ending = await me.call('PUT', '/users/u1', { attributes: { plan: 'gold' }, expires_at: until });
    expect(ending.body.data.expires_at).toEqual({ plan: until });
    expect(await fetchOfferIds()).toEqual([ids.offer]);
    clock.ms += 60_001;
    expect(await fetchOfferIds()).toEqual([]);
    expect((await me.call('GET', '/users/u1')).body.data.attributes).toEqual({ age: 41, vip: true });
    await me.call('POST', '/users', { users: [{ pub_user_id: 'u1', attributes: { plan: 'gold' } }] });
    expect(await fetchOfferIds()).toEqual([ids.offer]);
    await me.call('PUT', '/users/u1', { attributes: { plan: null } });
    expect(await fetchOfferIds()).toEqual([]);
    expect(await identical(first.session_id)).toBe(true);
  },
);

test('attributes fill macros and are used by offer counts and explanations', async () => {
  await rules(gold);
  await me.call('PATCH', `/offers/${ids.offer}`, { title: 'For {{plan|all}} members' });
  await me.call('PUT', '/users/u1', { attributes: { plan: 'gold' } });
  expect((await fetched()).offers[0]?.title).toBe('For gold members');
  const explain = async (pub_user_id: string) => {
    const { body } = await me.call('POST', '/explain', { placement: 'checkout', pub_user_id });
    return (body.data.offers as unknown as { rule: string | null }[]).map(({ rule }) => rule);
  };
  expect([await explain('u1'), await explain('u2')]).toEqual([[null], ['conditions']]);
});

test('invalid attributes are reported by name, and the whole call is rejected', async () => {
  const refusal = async (method: 'PUT' | 'POST', path: string, body: object) => {
    const { status, body: answer } = await me.call(method, path, body);
    const { error } = answer as unknown as { error: { code: string; details: { path: string }[] } };
    return [status, error.code, error.details.map(({ path: at }) => at)];
  };
  expect(await refusal('PUT', '/users/me%40mail.example', { attributes: {} })).toEqual([
    ...[400, 'pub_user_id_is_pii'],
    ['/pub_user_id'],
  ]);
  const attributes = { ' ': 1, list: [1], long: 'x'.repeat(513), constructor: 'x', fine: 'x' };
  expect(await refusal('PUT', '/users/u1', { attributes, expires_at: '2001-01-01T00:00:00Z' })).toEqual([
    ...[400, 'invalid_request'],
    ['/expires_at', '/attributes/ ', '/attributes/list', '/attributes/long', '/attributes/constructor'],
  ]);
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`a${index}`, index]));
  expect(await refusal('PUT', '/users/u1', { attributes: many })).toEqual([400, 'invalid_request', ['/attributes']]);
  expect((await me.call('PUT', '/users/u1', { attributes: { age: 41 } })).status).toBe(200);
  const users = [
    { pub_user_id: 'u2', attributes: { age: 1 } },
    { pub_user_id: 'u1', attributes: { age: '41' } },
  ];
  expect(await refusal('POST', '/users', { users })).toEqual([400, 'invalid_request', ['/users/1/attributes/age']]);
  expect(await refusal('POST', '/users', users)).toEqual([400, 'invalid_request', ['/1/attributes/age']]);
  expect((await me.call('GET', '/users/u2')).status).toBe(404);
  const tooMany = Array.from({ length: 1001 }, () => ({ pub_user_id: 'x', attributes: {} }));
  expect((await me.call('POST', '/users', { users: tooMany })).status).toBe(400);
});

test('400: every operation rejects user IDs that a fetch cannot have', async () => {
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    const { status, body } = await me.call(method, '/users/a%00', method === 'PUT' ? { attributes: {} } : undefined);
    expect([method, status, body]).toMatchObject([
      method,
      400,
      { error: { code: 'invalid_request', details: [{ path: '/params/pub_user_id' }] } },
    ]);
  }
});

test("publishers cannot see or change each other's attributes, and keys need the permission", async () => {
  await me.call('PUT', '/users/u1', { attributes: { plan: 'gold' } });
  const other = await t.caller(await t.addPublisher());
  expect((await other.call('GET', '/users/u1')).status).toBe(404);
  await other.call('PUT', '/users/u1', { attributes: { plan: 'free' } });
  expect((await me.call('GET', '/users/u1')).body.data.attributes).toEqual({ plan: 'gold' });
  const weak = await t.caller(me.publisherId, ['ads/offers']);
  for (const [method, path] of [
    ['GET', '/users/u1'],
    ['PUT', '/users/u1'],
    ['POST', '/users'],
    ['DELETE', '/users/u1'],
  ] as const)
    expect((await weak.call(method, path, method === 'GET' || method === 'DELETE' ? undefined : {})).status).toBe(403);
});

test('64 concurrent changes lose nothing; an export includes and an erasure removes them with the ID', async () => {
  const user = 'known-as-zanzibar';
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
  await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      me.call('PUT', `/users/${user}`, { attributes: { [names[index % 40] as string]: index % 40 } }),
    ),
  );
  const { body } = await me.call('GET', `/users/${user}`);
  expect(body.data.attributes).toEqual(Object.fromEntries(names.map((name, index) => [name, index])));
  expect(await tablesWith(t, user)).toEqual([]);
  const exported = await me.call('POST', '/privacy/export', { pub_user_id: user });
  expect(exported.body.data.attributes).toMatchObject([{ attributes: { n39: { value: 39 } } }]);
  const erasure = await me.call('DELETE', `/users/${user}`);
  expect(erasure.status).toBe(202);
  while (await eraseNext(t));
  expect((await me.call('GET', `/users/${user}`)).status).toBe(404);
  await me.call('PUT', `/users/${user}`, { attributes: { back: true } });
  clock.ms += secondSweepMs;
  while (await eraseNext(t));
  expect((await me.call('GET', `/users/${user}`)).body.data.attributes).toEqual({ back: true });
});

test("the privacy page shows a user's attributes", async () => {
  await me.call('PUT', '/users/u1', { attributes: { plan: 'gold-plan' } });
  const admin = await signInAs(t, 'admin', me.publisherId);
  const response = await admin.post(`/dashboard/p/${me.publisherId}/settings/privacy`, {
    identifier: 'u1',
    named_by: 'pub_user_id',
  });
  expect([response.statusCode, response.body]).toEqual([200, expect.stringContaining('gold-plan')]);
});
