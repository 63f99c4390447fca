import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { secondSweepMs } from '../../src/privacy/erasures.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { eraseNext, tablesWith } from '../privacy/support.ts';

const path = '/sources/segment';
const settings = {
  traits: { plan: 'plan', 'lifetime value': 'ltv' },
  group_traits: { industry: 'industry', groupId: 'company' },
  events: { 'Order Completed': { name: 'order', value: 'revenue' }, Visited: { name: 'visit' } },
  audiences: { is_customer: 'customers' },
};

let t: ManagementApp;
let me: Caller;
const clock = { ms: Date.now() };
beforeAll(async () => {
  t = await createManagementApp({ now: () => clock.ms });
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  expect((await me.call('PUT', path, settings)).status).toBe(200);
});

let ids = 0;
const event = (type: string, more: object = {}) => ({
  type,
  messageId: `m-${++ids}`,
  userId: 'u1',
  timestamp: new Date(clock.ms).toISOString(),
  ...more,
});
const at = (agoMs: number) => ({ timestamp: new Date(clock.ms - agoMs).toISOString() });
const membership = (isIn: boolean, more: object = {}) =>
  event('identify', {
    traits: { big_spenders: isIn, plan: 'never read' },
    context: { personas: { computation_class: 'audience', computation_key: 'big_spenders' } },
    ...more,
  });

async function send(body: unknown, headers: Record<string, string> = {}) {
  clock.ms += 1;
  const answer = await me.call('POST', path, body, headers);
  return answer.status === 200 ? answer.body.data : { status: answer.status, error: answer.body.error };
}
const attributes = async (user = 'u1') => (await me.call('GET', `/users/${user}`)).body.data?.attributes;
const size = async (key: string) => (await me.call('GET', `/audiences/${key}`)).body.data?.size;
const events = async () => (await me.call('GET', `${path}/events`)).body.data as unknown as Record<string, unknown>[];
const outcomes = async () =>
  (
    await t.pool.query(
      'select id, name, value_micros::float8 as v, currency from own_outcomes where publisher_id = $1',
      [me.publisherId],
    )
  ).rows;

test('identify, group and track calls become attributes and outcomes according to the mapping', async () => {
  const order = event('track', { event: 'Order Completed', properties: { revenue: '12.50', currency: 'EUR' } });
  const data = await send([
    event('identify', { traits: { plan: 'gold', 'lifetime value': 99.5, email: 'a@b.example' } }),
    event('group', { groupId: 'g7', traits: { industry: 'shoes' } }),
    ...[order, event('page', { name: 'Home' }), event('track', { event: 'Seen' })],
  ]);
  expect(data).toMatchObject({ received: 5, applied: 3, ignored: 2, refused: 0, duplicates: 0 });
  expect(await attributes()).toEqual({ plan: 'gold', ltv: 99.5, industry: 'shoes', company: 'g7' });
  expect(await outcomes()).toEqual([{ id: order.messageId, name: 'order', v: 12_500_000, currency: 'EUR' }]);
  await send({ batch: [event('identify', { traits: { plan: null } })] });
  expect(await attributes()).toEqual({ ltv: 99.5, industry: 'shoes', company: 'g7' });
});

test('data from a source affects the next fetch', async () => {
  const { offer, campaign } = (await addCatalogue(me)) as { offer: number; campaign: number };
  const rules = { targeting: { audiences: { exclude: ['big-spenders'] } } };
  expect(await send(membership(true, { userId: 'u2' }))).toMatchObject({ applied: 1 });
  expect((await me.call('PATCH', `/campaigns/${campaign}`, { rules })).status).toBe(200);
  const fetchOfferIds = async (user: string) => {
    const payload = { placement: 'checkout', ip: '203.0.113.9', pub_user_id: user };
    const answer = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${me.key}`,
      payload,
    });
    return answer.json().data.offers.map(({ id }: { id: number }) => id);
  };
  expect([await fetchOfferIds('u1'), await fetchOfferIds('u2')]).toEqual([[offer], []]);
});

test('memberships are accepted in every form, and unknown audiences are created if enabled', async () => {
  await send(membership(true));
  expect(await size('big-spenders')).toBe(1);
  await send(
    event('track', { event: 'Audience Exited', properties: { audience_key: 'big_spenders', big_spenders: false } }),
  );
  expect(await size('big-spenders')).toBe(0);
  await send(event('track', { event: 'Audience Entered', properties: { audience_key: 'big_spenders' } }));
  expect(await size('big-spenders')).toBe(1);
  // A trait that is mapped to an attribute never creates an audience.
  expect(await send(event('identify', { traits: { is_customer: true } }))).toMatchObject({ refused: 1 });
  await me.call('POST', '/audiences', { key: 'customers', name: 'Customers' });
  expect(await send(event('identify', { traits: { is_customer: true } }))).toMatchObject({ applied: 1 });
  expect(await size('customers')).toBe(1);
  const rule = { event: 'click', within_days: 7 };
  await me.call('POST', '/audiences', { key: 'clickers', name: 'Clickers', rule });
  const ruled = {
    traits: { clickers: true },
    context: { personas: { computation_class: 'audience', computation_key: 'clickers' } },
  };
  await send(event('identify', ruled));
  expect((await events())[0]).toMatchObject({ result: 'refused', effects: [{ name: 'clickers', result: 'has_rule' }] });
  await me.call('PUT', path, { ...settings, create_audiences: false });
  const other = {
    traits: { new_one: true },
    context: { personas: { computation_class: 'audience', computation_key: 'new_one' } },
  };
  await send(event('identify', other));
  expect((await events())[0]).toMatchObject({ effects: [{ kind: 'audience', name: 'new-one', result: 'unknown' }] });
});

test('a batch that is sent three times counts once, and late events do not undo newer ones', async () => {
  const batch = [
    event('identify', { traits: { plan: 'gold' }, ...at(60_000) }),
    event('track', { event: 'Visited' }),
    membership(false, at(30_000)),
  ];
  const answers = await Promise.all([send(batch), send(batch), send(batch)]);
  const sum = (name: string) => answers.reduce((total, answer) => total + Number(answer?.[name as 'applied']), 0);
  expect([sum('applied'), sum('duplicates')]).toEqual([3, 6]);
  expect(await outcomes()).toHaveLength(1);
  expect(
    await send([event('identify', { traits: { plan: 'silver' }, ...at(90_000) }), membership(true, at(40_000))]),
  ).toMatchObject({
    superseded: 2,
  });
  expect([await attributes(), await size('big-spenders')]).toEqual([{ plan: 'gold' }, 0]);
  // Within one call, the newest event also wins, whatever its position.
  await send([
    event('identify', { traits: { plan: 'newest' } }),
    event('identify', { traits: { plan: 'older' }, ...at(10_000) }),
  ]);
  expect(await attributes()).toEqual({ plan: 'newest' });
  expect((await events()).find(({ message_id: id }) => id === batch[0]?.messageId)).toMatchObject({ times: 3 });
});

test('a clock that is ahead does not prevent later events from counting', async () => {
  await send(event('identify', { traits: { plan: 'ahead' }, ...at(-86_400_000) }));
  clock.ms += 1;
  await send(event('identify', { traits: { plan: 'later' } }));
  expect(await attributes()).toEqual({ plan: 'later' });
});

test('invalid events are rejected individually with a reason, and the rest is accepted', async () => {
  await send(event('identify', { traits: { plan: 'gold' } }));
  const data = await send([
    ...[event('identify', { userId: 'ada@shop.example' }), event('identify', { userId: undefined }), 'no event', null],
    { ...event('identify'), messageId: undefined },
    event('identify', { traits: { plan: 7, 'lifetime value': 1 } }),
    event('identify', { userId: { a: 1 }, messageId: { toString: 'x' } }),
    event('identify', { userId: 'u9', traits: { plan: { deep: true } } }),
    event('track', { event: 'Order Completed', properties: { revenue: 'a lot' } }),
    event('track', { event: 'Visited', ...at(31 * 86_400_000) }),
    event('track', { event: '__proto__', properties: { __proto__: 1 } }),
  ]);
  expect(data).toMatchObject({ received: 11, partly: 1, ignored: 1, refused: 9 });
  expect(await attributes()).toEqual({ plan: 'gold', ltv: 1 });
  const results = (await events()).map(
    ({ refusal, effects }) => refusal ?? (effects as { result: string }[]).map(({ result }) => result).join(),
  );
  expect(results.sort()).toEqual(
    [
      ...['user_is_pii', 'no_user', 'unreadable', 'unreadable', 'no_message_id', 'no_message_id'],
      ...['type_changed,done', 'invalid', 'invalid', 'too_old', '', 'done'],
    ].sort(),
  );
  expect(
    await t.pool.query("select 1 from source_events where source_events::text like '%shop.example%'"),
  ).toMatchObject({
    rowCount: 0,
  });
});

test('a source with a secret accepts only events that are signed with it', async () => {
  expect((await me.call('PUT', path, { ...settings, secret: 'a shared secret' })).body.data).toMatchObject({
    has_secret: true,
  });
  const sign = (text: string, secret = 'a shared secret') => ({
    'x-signature': createHmac('sha1', secret).update(text).digest('hex'),
  });
  const eventText = JSON.stringify(event('identify', { traits: { plan: 'gold' } }));
  for (const headers of [{}, sign(eventText, 'another secret'), { 'x-signature': 'ff' }, sign(`${eventText} `)])
    expect(await send(eventText, headers)).toMatchObject({ status: 401, error: { code: 'invalid_signature' } });
  expect(await attributes()).toBeUndefined();
  expect(await send(eventText, sign(eventText))).toMatchObject({ applied: 1 });
  // Segment signs the first event of a batch.
  const batch = [event('identify', { traits: { plan: 'silver' } }), event('page')];
  expect(await send(batch, sign(JSON.stringify(batch[0])))).toMatchObject({ applied: 1, ignored: 1 });
  expect(await send(batch, sign(JSON.stringify(batch[1])))).toMatchObject({ status: 401 });
  const { body } = await me.call('PUT', path, { ...settings, traits: {} });
  expect(body.data).toMatchObject({ has_secret: true, traits: {} });
  expect((await me.call('PUT', path, { ...settings, secret: null })).body.data).toMatchObject({ has_secret: false });
  expect(JSON.stringify(body)).not.toContain('a shared secret');
});

test('invalid bodies are rejected, and other keys and publishers see nothing', async () => {
  expect(await send('{')).toMatchObject({ status: 400, error: { code: 'malformed_json' } });
  expect(await send(Array.from({ length: 1001 }, () => event('page')))).toMatchObject({ status: 413 });
  expect(await send('a,b', { 'content-type': 'text/csv' })).toMatchObject({ status: 415 });
  expect(await send(JSON.stringify({ batch: ['x'.repeat(4 * 1024 * 1024)] }))).toMatchObject({ status: 413 });
  expect((await me.call('PUT', path, { traits: { plan: 'no name' }, other: 1 })).body.error).toMatchObject({
    details: [{ path: '/other' }, { path: '/traits/plan' }],
  });
  const reader = await t.caller(me.publisherId, ['reports']);
  expect((await reader.call('POST', path, event('identify'))).status).toBe(403);
  await send(event('identify', { traits: { plan: 'gold' } }));
  const otherPublisher = await t.caller(await t.addPublisher());
  expect((await otherPublisher.call('GET', `${path}/events`)).body.data).toEqual([]);
  expect((await otherPublisher.call('GET', '/users/u1')).status).toBe(404);
});

test('64 concurrent calls about a few users lose no data, and the newest value wins', async () => {
  const users = ['a', 'b', 'c', 'd'];
  await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      send(
        users.flatMap((userId) => [
          event('identify', { userId, traits: { 'lifetime value': index }, ...at(64_000 - index * 1000) }),
          membership(index % 2 === 0, { userId, ...at(64_000 - index * 1000) }),
          event('track', { userId, event: 'Visited' }),
        ]),
      ),
    ),
  );
  for (const user of users) expect(await attributes(user)).toEqual({ ltv: 63 });
  expect([await size('big-spenders'), (await outcomes()).length]).toEqual([0, 256]);
});

test('an erased user disappears from source data, and a repeated old event does not restore it', async () => {
  const old = event('identify', { userId: 'known-as-zanzibar', traits: { plan: 'gold' } });
  await send([old, membership(true, { userId: 'known-as-zanzibar' })]);
  expect((await me.call('DELETE', '/users/known-as-zanzibar')).status).toBeLessThan(300);
  while (await eraseNext(t));
  clock.ms += secondSweepMs;
  while (await eraseNext(t));
  expect([await attributes('known-as-zanzibar'), await size('big-spenders')]).toEqual([undefined, 0]);
  await send(old);
  expect(await attributes('known-as-zanzibar')).toBeUndefined();
  expect(await tablesWith(t, 'known-as-zanzibar')).toEqual([]);
  expect((await t.pool.query('select 1 from source_moments')).rows.length).toBeGreaterThan(0);
  const { rows } = await t.pool.query('select 1 from source_events where user_key is not null and message_id = $1', [
    old.messageId,
  ]);
  expect(rows).toEqual([]);
});
