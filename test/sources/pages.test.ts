import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { errorsIn, signInAs } from '../dashboard/support.ts';

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

test('the mapping has one row per name and is shown in words, and the results of events are listed', async () => {
  const saved = await admin.post(page, {
    'traits.0.from': 'plan',
    'traits.0.to': '',
    'traits.1.from': 'lifetime value',
    'traits.1.to': 'ltv',
    'traits.2.from': '',
    'traits.2.to': '',
    'audiences.0.from': 'is_customer',
    'audiences.0.to': 'customers',
    'events.0.from': 'Order Completed',
    'events.0.to': 'order',
    'events.0.value': 'revenue',
    'events.1.from': 'Visited, again = twice',
    'events.1.to': 'visit',
    create_audiences: '1',
    signature: 'unsigned',
    secret: '',
  });
  expect([saved.statusCode, saved.headers.location]).toEqual([303, page]);
  expect((await me.call('GET', '/sources/segment')).body.data).toEqual({
    traits: { plan: 'plan', 'lifetime value': 'ltv' },
    group_traits: {},
    audiences: { is_customer: 'customers' },
    events: { 'Order Completed': { name: 'order', value: 'revenue' }, 'Visited, again = twice': { name: 'visit' } },
    create_audiences: true,
    has_secret: false,
  });
  const traits = { plan: 'gold-plan', is_customer: true };
  await me.call('POST', '/sources/segment', { type: 'identify', messageId: 'm1', userId: 'u1', traits });
  const { body } = await admin.get(page);
  for (const text of [
    'The user trait <strong>lifetime value</strong> sets the attribute <strong>ltv</strong>.',
    'with <strong>revenue</strong> as its value.',
    'name="events.0.value" value="revenue"',
    'attribute plan: applied; audience customers: no audience with this key',
  ])
    expect(body).toContain(text);
  expect(body).not.toContain('gold-plan');
});

test('an invalid value is reported at its field, with the input kept and nothing changed', async () => {
  const row = { 'traits.0.from': 'plan', 'traits.0.to': 'no name' };
  const answer = await admin.post(page, { ...row, signature: 'signed', secret: 'short' });
  expect(answer.statusCode).toBe(422);
  expect(answer.body).toContain('value="no name"');
  expect(answer.body).toMatch(/id="f-traits-0-to-error">The name must consist of 1 to 64 characters/);
  expect(answer.body).toContain('id="f-secret-error"');
  const twice = await admin.post(page, { ...row, 'traits.1.from': 'plan', 'traits.1.to': 'tier' });
  expect(errorsIn(twice.body)).toEqual(['This name is already mapped.']);
  expect(errorsIn((await admin.post(page, { 'audiences.0.to': 'vip' })).body)).toEqual([
    'Enter the name in the source.',
  ]);
  expect((await me.call('GET', '/sources/segment')).body.data).toMatchObject({ traits: { plan: 'plan' } });
});

test('the secret is never shown, is kept if the field is empty, and is removed on request', async () => {
  const mapping = { 'traits.0.from': 'plan' };
  const has = async () => (await me.call('GET', '/sources/segment')).body.data.has_secret;
  await admin.post(page, { ...mapping, signature: 'signed', secret: '' });
  expect(await has()).toBe(false);
  await admin.post(page, { ...mapping, signature: 'signed', secret: 'a shared secret' });
  expect((await admin.get(page)).body).not.toContain('a shared secret');
  await admin.post(page, { ...mapping, signature: 'signed', secret: '' });
  expect(await has()).toBe(true);
  await admin.post(page, { ...mapping, signature: 'unsigned', secret: '' });
  expect(await has()).toBe(false);
  const analyst = await signInAs(t, 'analyst', me.publisherId);
  expect((await analyst.get(page)).statusCode).toBe(403);
});
