import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';

const path = '/sources/segment';
const settings = {
  traits: { plan: 'plan', city: 'city' },
  group_traits: { plan: 'company_plan', groupId: 'company' },
  events: {
    'Order Completed': { name: 'order', value: 'revenue' },
    'Product Added': { name: 'added', value: 'price' },
  },
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

/** Returns an event as RudderStack's SDKs send it, with the user's traits in the context of every call. */
let ids = 0;
const rudder = (type: string, more: Record<string, unknown> = {}) => ({
  anonymousId: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  channel: 'web',
  context: {
    app: {
      build: '1.0.0',
      name: 'RudderLabs JavaScript SDK',
      namespace: 'com.rudderlabs.javascript',
      version: '2.5.2',
    },
    library: { name: 'RudderLabs JavaScript SDK', version: '2.5.2' },
    locale: 'en-GB',
    traits: { plan: 'gold', city: 'Leeds', email: 'reader@shop.example' },
  },
  integrations: { All: true },
  messageId: `1650526890461-${++ids}`,
  originalTimestamp: new Date(clock.ms - 2000).toISOString(),
  receivedAt: new Date(clock.ms - 1000).toISOString(),
  request_ip: '203.0.113.9',
  rudderId: 'c1b4a2ba-9e4b-4a55-8d2a-1f5b9fa2b8a1',
  sentAt: new Date(clock.ms - 1500).toISOString(),
  timestamp: new Date(clock.ms - 1500).toISOString(),
  type,
  userId: 'u1',
  ...more,
});
const order = (properties: object, more: Record<string, unknown> = {}) =>
  rudder('track', { event: 'Order Completed', properties, ...more });

async function send(body: unknown, headers: Record<string, string> = {}) {
  clock.ms += 1;
  const answer = await me.call('POST', path, body, headers);
  return answer.status === 200 ? answer.body.data : { status: answer.status };
}
const attributes = async (user = 'u1') => (await me.call('GET', `/users/${user}`)).body.data?.attributes;
const latest = async () =>
  ((await me.call('GET', `${path}/events`)).body.data as unknown as Record<string, unknown>[])[0];
const outcomes = async () => {
  const { rows } = await t.pool.query(
    'select name, value_micros::float8 / 1e6 as value, currency, at from own_outcomes where publisher_id = $1',
    [me.publisherId],
  );
  return rows;
};

test('user traits in the RudderStack context become attributes and memberships', async () => {
  await me.call('POST', '/audiences', { key: 'customers', name: 'Customers' });
  const { context } = rudder('identify');
  const identify = rudder('identify', { context: { ...context, traits: { ...context.traits, is_customer: true } } });
  expect(await send(identify)).toMatchObject({ applied: 1, problems: [] });
  expect(await attributes()).toEqual({ plan: 'gold', city: 'Leeds' });
  expect((await me.call('GET', '/audiences/customers')).body.data).toMatchObject({ size: 1 });
  // Traits of the call itself are newer than the traits that the SDK stores.
  await send(rudder('identify', { traits: { plan: 'silver' } }));
  expect(await attributes()).toEqual({ plan: 'silver', city: 'Leeds' });
});

test('user traits in the context of a group or track call are not used as group traits', async () => {
  expect(await send(rudder('group', { groupId: 'g7', traits: { plan: 'enterprise' } }))).toMatchObject({ applied: 1 });
  await send(order({ revenue: 1, currency: 'EUR' }));
  expect(await attributes()).toEqual({ company: 'g7', company_plan: 'enterprise' });
});

test('an invalid time is ignored and reported', async () => {
  const event = order({ revenue: 10, currency: 'EUR' }, { timestamp: '04/05/2026 10:30', originalTimestamp: null });
  expect(await send(event)).toMatchObject({
    applied: 1,
    problems: [{ index: 0, message_id: event.messageId, path: '/timestamp', reason: 'unreadable_time' }],
  });
  expect(await latest()).toMatchObject({ notes: [{ path: '/timestamp', reason: 'unreadable_time' }] });
  const admin = await signInAs(t, 'admin', me.publisherId);
  const { body } = await admin.get(`/dashboard/p/${me.publisherId}/settings/sources`);
  expect(body).toContain('Some values were ignored in 1 event');
  expect(body).toContain('timestamp is not a valid time with a time zone and was ignored');
  const german = await admin.get(`/dashboard/p/${me.publisherId}/settings/sources`, { 'accept-language': 'de' });
  expect(german.body).toContain('In 1 Ereignis wurden Werte ignoriert');
});

test('times in seconds and milliseconds are accepted, and 1970 or future times are reported', async () => {
  const seconds = Math.floor(clock.ms / 1000) - 60;
  await send([
    order({ revenue: 1 }, { timestamp: seconds }),
    order({ revenue: 1 }, { timestamp: seconds * 1000 }),
    order({ revenue: 1 }, { timestamp: new Date(seconds * 1000).toISOString().replace('Z', '+0000') }),
  ]);
  expect((await outcomes()).map(({ at }) => at.getTime())).toEqual([1, 2, 3].map(() => seconds * 1000));
  expect(
    await send([
      order({ revenue: 1 }, { timestamp: '1970-01-01T00:00:00.000Z' }),
      order({ revenue: 1 }, { timestamp: new Date(clock.ms + 86_400_000).toISOString() }),
    ]),
  ).toMatchObject({
    problems: [
      { index: 0, path: '/properties/revenue', reason: 'too_old' },
      { index: 1, path: '/timestamp', reason: 'future_time' },
    ],
  });
});

test('currencies are accepted in any letter case, and unknown ones are reported', async () => {
  const data = await send([
    order({ revenue: 1, currency: 'eur' }),
    order({ revenue: 2, currency: ' GBP ' }),
    order({ revenue: 3, currency: 'Euro' }),
    order({ revenue: 4, currency: 'XXX' }),
    order({ revenue: 5, currency: 978 }),
    order({ revenue: 6 }),
    order({ revenue: 7, currency: null }),
  ]);
  const unknown = { path: '/properties/currency', reason: 'unknown_currency' };
  expect(data).toMatchObject({
    applied: 7,
    problems: [2, 3, 4].map((index) => ({ index, ...unknown })),
  });
  expect((await outcomes()).map(({ value, currency }) => `${value} ${currency}`).sort()).toEqual([
    '1 EUR',
    '2 GBP',
    '3 null',
    '4 null',
    '5 null',
    '6 null',
    '7 null',
  ]);
});

test('values are decimal numbers or numeric text, and anything else is reported with its path', async () => {
  const values = ['12.50', 99.5, '0', '-3', '.5', '12,50', '1,250.00', '$5', '0x10', '1e3', 'NaN', '', null, {}, true];
  const data = await send(values.map((revenue) => order({ revenue, total: 5, value: 6 })));
  expect((await outcomes()).map(({ value }) => value).sort((a, b) => a - b)).toEqual([-3, 0, 0.5, 12.5, 99.5]);
  const problems = values.slice(5).map((value, index) => ({
    index: index + 5,
    path: '/properties/revenue',
    reason: (value ?? '') === '' ? 'no_value' : 'invalid',
  }));
  expect(data).toMatchObject({ applied: 5, refused: 10, problems });
  expect(await send(order({ total: 5, value: 6 }))).toMatchObject({ problems: [{ reason: 'no_value' }] });
});

test('a response lists the rejected events and the ignored values of new events', async () => {
  const { context } = rudder('identify');
  const events = [
    rudder('identify', { userId: '' }),
    rudder('identify', { userId: 'ada@shop.example' }),
    rudder('identify', { context: { ...context, traits: { plan: { deep: 1 }, is_customer: 'yes' } } }),
    rudder('track', { event: 'Unmapped', timestamp: 'never' }),
  ];
  const data = await send({ batch: events });
  expect(data).toMatchObject({
    problems: [
      { index: 0, path: '', reason: 'no_user' },
      { index: 1, path: '', reason: 'user_is_pii' },
      { index: 2, path: '/context/traits/is_customer', reason: 'not_boolean' },
      { index: 2, path: '/context/traits/plan', reason: 'invalid' },
    ],
  });
  expect(await send({ batch: events })).toMatchObject({ duplicates: 4, problems: [] });
  expect(JSON.stringify(data)).not.toContain('ada@shop.example');
});

test('at most 100 problems are listed', async () => {
  const many = Array.from({ length: 150 }, () => rudder('identify', { userId: '' }));
  const { problems, refused } = (await send(many)) as unknown as { problems: unknown[]; refused: number };
  expect([problems.length, refused]).toEqual([100, 150]);
});

test('the signature of the first event in a batch is verified over the original bytes', async () => {
  const secret = 'a shared secret';
  await me.call('PUT', path, { ...settings, secret });
  const sign = (text: string) => ({ 'x-signature': createHmac('sha1', secret).update(text).digest('hex') });
  // Integers beyond 2^53, exponents and escapes do not survive a JSON parser.
  const first =
    `{"type":"identify","messageId":"big-1","userId":"u1","n":9007199254740993123,"x":1.0,"y":1E3,` +
    `"context":{"traits":{"plan":"g\\u006fld ü","note":"]}\\"[{"}}}`;
  const second = '{"type":"page","messageId":"big-2","userId":"u1"}';
  expect(await send(`[${first},${second}]`, sign(first))).toMatchObject({ applied: 1, ignored: 1 });
  expect(await attributes()).toEqual({ plan: 'gold ü' });
  const batch = `{"sentAt":null,"batch":[ ${first} , ${second}]}`;
  expect(await send(batch, sign(first))).toMatchObject({ duplicates: 2 });
  expect(await send(batch, sign(batch))).toMatchObject({ duplicates: 2 });
  for (const other of [second, first.replace('123,', '124,'), JSON.stringify(JSON.parse(first))])
    expect(await send(`[${first},${second}]`, sign(other))).toEqual({ status: 401 });
  expect(await send('[]', sign(''))).toEqual({ status: 401 });
  expect(await send(`{"other":[${first}],"batch":[${second}]}`, sign(first))).toEqual({ status: 401 });
});
