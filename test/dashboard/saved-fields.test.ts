import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { couponCalls } from '../coupons/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { signInAs, type TestUser } from './support.ts';

let t: TestApp;
let admin: TestUser;
beforeAll(async () => {
  t = await createTestApp();
  admin = await signInAs(t, 'admin');
  await couponCalls(t).add(1, { codes: ['A-1'] });
});
afterAll(() => t?.close());

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

/** Returns the values that a browser would submit for a form of a page. */
function valuesOf(body: string, action: string): Record<string, string> {
  const [, form = ''] = new RegExp(`<form[^>]* action="${action}"[^>]*>([\\s\\S]*?)</form>`).exec(body) ?? [];
  const values: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input [^>]*>/g)) {
    const of = (name: string): string => unescaped(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '');
    const isChosen = !/type="(checkbox|radio)"/.test(tag) || / checked/.test(tag);
    if (isChosen && of('name') !== '' && of('type') !== 'file') values[of('name')] = of('value');
  }
  for (const [, name = '', text = ''] of form.matchAll(/<textarea [^>]*name="([^"]*)"[^>]*>\n?([\s\S]*?)<\/textarea>/g))
    values[name] = unescaped(text);
  return values;
}

type Change = Record<string, string>;

/**
 * Fills in each change alone and each pair, saves, reloads and compares. A change includes the fields that it needs,
 * such as the radio button that shows it.
 */
async function savesAll(page: string, action: string, changes: readonly Change[]): Promise<void> {
  const load = async () => valuesOf((await admin.get(page)).body, action);
  const initial = await load();
  for (const [index, first] of changes.entries())
    for (const second of changes.slice(index)) {
      const change = { ...second, ...first };
      const fields = { ...initial, _version: (await load())._version ?? '', _confirmed: 'on', ...change };
      const answer = await admin.post(action.replace(/#.*/, ''), fields);
      expect([answer.statusCode, change]).toEqual([303, change]);
      expect(await load()).toMatchObject(change);
    }
  const restored = { ...initial, _version: (await load())._version ?? '', _confirmed: 'on' };
  expect((await admin.post(action.replace(/#.*/, ''), restored)).statusCode).toBe(303);
  const { _version: _before, ...before } = initial;
  expect(await load()).toMatchObject(before);
}

const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;

describe('each field of a form is saved, alone and together with each other field:', () => {
  test('block rules', async () => {
    const limited = { 'allowed.mode': 'some' };
    await savesAll(own('/settings/controls'), own('/settings/controls'), [
      { 'blocked.categories': 'Shoes, "Food, fresh"' },
      { 'blocked.advertisers': '7, 9' },
      { 'blocked.offers': '3' },
      { 'blocked.brands': 'Farm & Co' },
      { 'blocked.domains': 'shop.example' },
      { 'blocked.words': 'half off, <b>' },
      { ...limited, 'allowed.categories': 'Shoes' },
      { ...limited, 'allowed.advertisers': '4' },
      { ...limited, 'allowed.brands': 'Other' },
      { ...limited, 'allowed.domains': 'other.example' },
      { 'separate.categories': 'on' },
      { 'separate.competitors': 'Rival, 5, rival.example' },
      { 'floors.0.placement': 'checkout', 'floors.0.amount': '2.5' },
      {
        'floors.0.placement': 'checkout',
        'floors.0.amount': '1',
        'floors.1.placement': 'thanks',
        'floors.1.amount': '0',
      },
    ]);
  });

  test('note and end of a block rule', async () => {
    const page = own('/settings/controls');
    expect((await admin.post(page, { _rule: 'new', by: 'word', 'value.word': 'half off' })).statusCode).toBe(303);
    const query = new URLSearchParams({ rule: JSON.stringify(['word', 'half off', null]) });
    await savesAll(`${page}?${query}`, `${page}#rule`, [{ note: 'Ann & <b>' }, { ends_at: '2031-02-03T04:05' }]);
  });

  test('data sources', async () => {
    await savesAll(own('/settings/sources'), own('/settings/sources'), [
      { 'traits.0.from': 'plan, old = new', 'traits.0.to': 'plan' },
      { 'group_traits.0.from': 'groupId', 'group_traits.0.to': 'company' },
      { 'audiences.0.from': 'is_customer', 'audiences.0.to': 'customers' },
      { 'events.0.from': 'Order Completed', 'events.0.to': 'order' },
      { 'events.0.from': 'Order Completed', 'events.0.to': 'order', 'events.0.value': 'revenue' },
      { create_audiences: 'on' },
    ]);
  });

  test('coupon settings', async () => {
    await savesAll(own('/offers/1'), own('/offers/1/coupons/settings'), [
      { give_at: 'click' },
      { expires_at: '2031-02-03' },
      { valid_days: '30' },
      { hold_minutes: '15' },
      { low_share: '20' },
      { low_hours: '48' },
      { terms: 'Once & only' },
    ]);
  });
});

test('the choice of what happens when a pool is empty keeps, replaces or removes the fallback code', async () => {
  const action = own('/offers/1/coupons/settings');
  const save = async (change: Change) => {
    const fields = valuesOf((await admin.get(own('/offers/1'))).body, action);
    expect((await admin.post(action, { ...fields, ...change })).statusCode).toBe(303);
    return (await t.pool.query('select fallback_sealed is not null as has from coupon_pools where offer_id = 1'))
      .rows[0].has;
  };
  expect(await save({ when_empty: 'fallback', fallback_code: 'THANKS' })).toBe(true);
  expect(await save({ terms: 'Twice' })).toBe(true);
  expect(await save({ when_empty: 'pause', fallback_code: 'OTHER' })).toBe(false);
});

test('two minimum revenues for one placement are rejected, and the row says so', async () => {
  const page = own('/settings/controls');
  const answer = await admin.post(page, {
    'floors.0.placement': 'checkout',
    'floors.0.amount': '1',
    'floors.1.placement': 'Checkout',
    'floors.1.amount': '2',
  });
  expect(answer.statusCode).toBe(422);
  expect(answer.body).toMatch(/id="f-floors-1-placement-error">This placement already has a minimum revenue/);
  const missing = await admin.post(page, { 'floors.0.placement': 'checkout', 'floors.0.amount': '' });
  expect(missing.body).toContain('id="f-floors-0-amount-error"');
  expect((await admin.post(page, { 'floors.0.amount': '2' })).body).toContain('Enter a placement.');
});

test('limiting offers to a list requires an entry, and rows can be added and removed without scripts', async () => {
  const page = own('/settings/controls');
  expect((await admin.post(page, { 'allowed.mode': 'some' })).body).toContain('Enter at least one category');
  const added = await admin.post(page, { _rows: 'add floors.0.placement', 'blocked.words': 'typed' });
  expect(added.statusCode).toBe(200);
  expect(added.body).toContain('name="floors.0.placement"');
  expect(added.body).toContain('typed</textarea>');
  const removed = await admin.post(page, {
    _rows: 'remove floors.0',
    'floors.0.placement': 'a',
    'floors.1.placement': 'b',
    'floors.1.amount': '2',
  });
  expect(valuesOf(removed.body, page)).toMatchObject({ 'floors.0.placement': 'b', 'floors.0.amount': '2' });
});

test.each<[string, string, string, Change, Change]>([
  ['data sources', '/settings/sources', '/settings/sources', { 'traits.0.from': 'a' }, { 'traits.0.from': 'b' }],
  ['coupon settings', '/offers/1', '/offers/1/coupons/settings', { terms: 'First' }, { terms: 'Second' }],
  ['perk messages', '/settings/perk-messages', '/settings/perk-messages', { from_name: 'A' }, { from_name: 'B' }],
  [
    'a webhook endpoint',
    '/settings/webhooks/usp.selection',
    '/settings/webhooks/usp.selection',
    { url: 'https://first.example/' },
    { url: 'https://second.example/' },
  ],
])(
  'of two tabs with the form for %s, the second one to save is asked first',
  async (_, page, action, first, second) => {
    const load = async () => valuesOf((await admin.get(own(page))).body, own(action));
    const needed = { 'traits.0.to': 'plan', delivery: 'smtp' };
    const opened = { ...needed, ...(await load()) };
    const save = (fields: Change) => admin.post(own(action), { ...opened, ...fields });
    expect((await save(first)).statusCode).toBeLessThan(400);
    const refused = await save(second);
    expect(refused.body).toContain('These settings have changed since you opened this page.');
    expect(valuesOf(refused.body, own(action))).toMatchObject(second);
    expect(await load()).toMatchObject(first);
    const { _version = '' } = valuesOf(refused.body, own(action));
    expect((await save({ ...second, _version })).statusCode).toBe(303);
    expect(await load()).toMatchObject(second);
  },
);
