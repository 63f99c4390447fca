import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';

let t: ManagementApp;
let me: Caller;
let admin: Awaited<ReturnType<typeof signInAs>>;
let page: string;
beforeAll(async () => {
  t = await createManagementApp();
  me = await t.caller(await t.addPublisher());
  admin = await signInAs(t, 'admin', me.publisherId);
  page = `/dashboard/p/${me.publisherId}/settings/sources`;
});
afterAll(() => t?.close());

test('the mapping has one entry per line and is shown in words, and the results of events are listed', async () => {
  const saved = await admin.post(page, {
    traits: 'plan\nlifetime value = ltv\n',
    group_traits: '',
    audiences: 'is_customer = customers',
    events: 'Order Completed = order, revenue\nVisited = visit',
    create_audiences: '1',
    secret: '',
  });
  expect([saved.statusCode, saved.headers.location]).toEqual([303, page]);
  expect((await me.call('GET', '/sources/segment')).body.data).toEqual({
    traits: { plan: 'plan', 'lifetime value': 'ltv' },
    group_traits: {},
    audiences: { is_customer: 'customers' },
    events: { 'Order Completed': { name: 'order', value: 'revenue' }, Visited: { name: 'visit' } },
    create_audiences: true,
    has_secret: false,
  });
  const traits = { plan: 'gold-plan', is_customer: true };
  await me.call('POST', '/sources/segment', { type: 'identify', messageId: 'm1', userId: 'u1', traits });
  const { body } = await admin.get(page);
  for (const text of [
    'The user trait <strong>lifetime value</strong> sets the attribute <strong>ltv</strong>.',
    'with <strong>revenue</strong> as its value.',
    'Order Completed = order, revenue',
    'attribute plan: applied; audience customers: no audience with this key',
  ])
    expect(body).toContain(text);
  expect(body).not.toContain('gold-plan');
});

test('an invalid value is reported at its field, with the input kept and nothing changed', async () => {
  const typed = { traits: 'plan = no name', group_traits: '', audiences: '', events: '', secret: 'short' };
  const answer = await admin.post(page, typed);
  expect(answer.statusCode).toBe(422);
  for (const text of ['plan = no name', 'plan: The name must consist of 1 to 64 characters'])
    expect(answer.body).toContain(text);
  expect((await me.call('GET', '/sources/segment')).body.data).toMatchObject({ traits: { plan: 'plan' } });
});

test('the secret is never shown, is kept if the field is empty, and is removed on request', async () => {
  const mapping = { traits: 'plan', group_traits: '', audiences: '', events: '' };
  const has = async () => (await me.call('GET', '/sources/segment')).body.data.has_secret;
  await admin.post(page, { ...mapping, secret: 'a shared secret' });
  expect((await admin.get(page)).body).not.toContain('a shared secret');
  await admin.post(page, { ...mapping, secret: '' });
  expect(await has()).toBe(true);
  await admin.post(page, { ...mapping, secret: '', no_secret: '1' });
  expect(await has()).toBe(false);
  const analyst = await signInAs(t, 'analyst', me.publisherId);
  expect((await analyst.get(page)).statusCode).toBe(403);
});
