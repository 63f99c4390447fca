import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startCatalogStore } from '../../../src/catalog/store.ts';
import { buildIndex } from '../../../src/decision/build-index.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { signInAs } from '../../dashboard/support.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp, type Reply } from './support.ts';

let t: ManagementApp;
let me: Caller;
let ids: Record<string, number>;
let path: string;
/** Time by which the clock of the server is ahead, in milliseconds. */
let aheadMs = 0;
beforeAll(async () => {
  t = await createManagementApp({ now: () => Date.now() + aheadMs });
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  ids = await addCatalogue(me);
  path = `/publishers/${me.publisherId}/controls`;
});

const shownIds = async (placement = 'checkout'): Promise<number[]> => {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${me.key}`,
    payload: { placement, ip: '203.0.113.9' },
  });
  return answer.json().data.offers.map(({ id }: { id: number }) => id);
};
const details = ({ body }: Reply) => (body as unknown as { error: { details: { path: string }[] } }).error.details;
const noneAllowed = { categories: [], brands: [], advertisers: [], domains: [] };
const none = { categories: [], brands: [], advertisers: [], domains: [], offers: [], words: [] };

test('rules apply as soon as the call has returned, are returned in full, and end with an empty PUT', async () => {
  const separate = { categories: false, competitors: [] };
  const rest = { allowed: noneAllowed, placements: {}, separate, rule_details: [] };
  const empty = { publisher_id: me.publisherId, blocked: none, ...rest };
  expect((await me.call('GET', path)).body.data).toEqual({ ...empty, floors: {}, offers: { total: 1, blocked: 0 } });
  const put = await me.call('PUT', path, {
    blocked: { domains: [' Farm.example. ', 'Farm.example.'] },
    floors: { 'Check Out': 1.5 },
  });
  expect([put.status, put.body.data, put.body.warnings]).toEqual([
    200,
    {
      ...empty,
      blocked: { ...none, domains: ['Farm.example.'] },
      floors: { 'check-out': 1.5 },
      offers: { total: 1, blocked: 1 },
    },
    [{ path: '/', message: 'The rules block all offers (1), so nothing is shown.' }],
  ]);
  expect(await shownIds()).toEqual([]);
  const explained = await t.app.inject({
    method: 'POST',
    url: '/manage/v1/explain',
    headers: { authorization: `Bearer ${me.key}` },
    payload: { placement: 'checkout' },
  });
  expect(explained.json().data.offers).toEqual([
    expect.objectContaining({
      rule: 'blocked_by_publisher',
      reason: 'The publisher blocks the domain farm.example.',
    }),
  ]);
  const feed = await t.app.inject({ url: `/native/v3/catalog.json?api_key=${me.key}` });
  expect([feed.statusCode, feed.body]).toEqual([200, expect.not.stringContaining('Half off')]);
  expect((await me.call('PUT', path, {})).body).toMatchObject({ data: { ...empty, floors: {} }, warnings: [] });
  expect(await shownIds()).toEqual([ids.offer]);
  const { body } = await me.call('GET', '/audit?resource=controls');
  expect(body.data).toHaveLength(2);
});

test('a dry run reports what would be blocked and saves nothing, and a change needs the current ETag', async () => {
  const rules = { blocked: { brands: ['farm'] } };
  const dry = await me.call('PUT', `${path}?dry_run=true`, rules);
  expect(dry.body).toMatchObject({ data: { offers: { total: 1, blocked: 1 } }, warnings: [{ path: '/' }] });
  expect(await shownIds()).toEqual([ids.offer]);
  const etag = String((await me.call('GET', path)).headers.etag);
  expect((await me.call('PUT', path, rules, { 'if-match': etag })).status).toBe(200);
  expect((await me.call('PUT', path, {}, { 'if-match': etag })).status).toBe(412);
  expect(await shownIds()).toEqual([]);
  expect((await me.call('PUT', `${path}?dry_run=yes`, {})).status).toBe(400);
});

test('all invalid fields are reported, and nothing is changed', async () => {
  const reply = await me.call('PUT', path, {
    blocked: { domains: ['https://a.example', 'ok.example'], words: [' '], colours: [], offers: ['12', 0] },
    separate: { categories: 'yes', competitors: [null] },
    floors: { checkout: -1 },
  });
  expect(reply.status).toBe(400);
  const paths = details(reply).map((detail) => detail.path);
  expect(paths).toEqual(
    expect.arrayContaining(['/blocked/colours', '/blocked/offers/0', '/separate/categories', '/floors/checkout']),
  );
  const second = await me.call('PUT', path, {
    blocked: { domains: ['a.example', 'a/b'], words: [' '] },
    floors: { ' ': 1 },
  });
  expect(details(second).map((detail) => detail.path)).toEqual(['/blocked/words/0', '/blocked/domains/1', '/floors']);
  const many = Array.from({ length: 1001 }, (_, index) => `word${index}`);
  expect(details(await me.call('PUT', path, { blocked: { words: many } }))).toEqual([
    { path: '/blocked/words', message: expect.any(String) },
  ]);
  for (const body of ['null', '[]', '"x"', '{"blocked":null}', '{"floors":[]}', '{"blocked":{"words":["a\\u0000"]}}'])
    expect([body, (await me.call('PUT', path, body)).status]).toEqual([body, 400]);
  expect(await shownIds()).toEqual([ids.offer]);
});

test('another publisher cannot read or set rules, or test whether IDs exist', async () => {
  const otherPublisher = await t.caller(await t.addPublisher());
  const marketer = await t.caller(me.publisherId, ['offers/management']);
  expect((await otherPublisher.call('GET', path)).status).toBe(404);
  expect((await otherPublisher.call('PUT', path, { blocked: { offers: [ids.offer] } })).status).toBe(404);
  expect((await marketer.call('PUT', path, {})).status).toBe(403);
  expect((await t.operator.call('GET', path)).status).toBe(200);
  const own = `/publishers/${otherPublisher.publisherId}/controls`;
  const answers = [ids.offer, 2_000_000_000].map(async (id) => {
    const { status, body } = await otherPublisher.call('PUT', own, { blocked: { offers: [id] } });
    return [status, body.data.offers, body.warnings];
  });
  expect(await answers[0]).toEqual(await answers[1]);
  expect(await shownIds()).toEqual([ids.offer]);
});

test('other processes pick up changed rules automatically', async () => {
  const store = await startCatalogStore({
    pool: t.pool,
    databaseUrl: t.databaseUrl,
    logger: createLogger('silent'),
    buildIndex,
    now: Date.now,
  });
  try {
    const isBlocked = (): boolean => {
      const { controls, index } = store.current().publishers.get(me.publisherId) ?? { controls: null, index: null };
      return index?.offers.some((offer) => controls?.blockOf(offer)) === true;
    };
    expect(isBlocked()).toBe(false);
    await me.call('PUT', path, { blocked: { words: ['HALF OFF'] } });
    await expect.poll(isBlocked).toBe(true);
  } finally {
    await store.stop();
  }
});

test('the page sets rules, asks before all offers are blocked, and is read-only for analysts', async () => {
  const admin = await signInAs(t, 'admin', me.publisherId);
  const analyst = await signInAs(t, 'analyst', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  expect((await analyst.get(page)).body).toContain('0 of 1 active offer are blocked.');
  expect((await analyst.post(page)).statusCode).toBe(403);
  const wrong = await admin.post(page, { 'blocked.domains': 'a/b', 'floors.0.placement': 'checkout' });
  expect([wrong.statusCode, wrong.body]).toEqual([422, expect.stringContaining('a/b</textarea>')]);
  const typed = {
    'blocked.words': 'half off, other',
    'separate.competitors': `Rival, ${ids.advertiser}`,
    'floors.0.placement': 'Checkout',
    'floors.0.amount': '2.5',
  };
  const unconfirmed = await admin.post(page, typed);
  expect([unconfirmed.statusCode, unconfirmed.body]).toEqual([422, expect.stringContaining('Save anyway')]);
  expect(await shownIds()).toEqual([ids.offer]);
  expect((await admin.post(page, { ...typed, _confirmed: 'on' })).statusCode).toBe(303);
  expect((await me.call('GET', path)).body.data).toMatchObject({
    blocked: { ...none, words: ['half off', 'other'] },
    separate: { categories: false, competitors: ['Rival', ids.advertiser] },
    floors: { checkout: 2.5 },
  });
  expect((await analyst.get(page)).body).toContain('These rules block every offer');
  expect(await shownIds()).toEqual([]);
});

test('placement rules apply only there, are explained with the placement, and checked before saving', async () => {
  const placements = { 'Check Out': { blocked: { brands: ['farm'] } }, thanks: { allowed: { categories: ['Shoes'] } } };
  const dry = await me.call('PUT', `${path}?dry_run=true`, { placements });
  expect(dry.body.warnings).toEqual([
    {
      path: '/placements/check-out',
      message: 'The rules block all offers at this placement, so nothing is shown there.',
    },
    {
      path: '/placements/thanks',
      message: 'The rules block all offers at this placement, so nothing is shown there.',
    },
  ]);
  const put = await me.call('PUT', path, { placements });
  expect(put.body.data).toMatchObject({
    offers: { total: 1, blocked: 0 },
    placements: {
      'check-out': { blocked: { ...none, brands: ['farm'] }, allowed: noneAllowed },
      thanks: { blocked: none, allowed: { ...noneAllowed, categories: ['Shoes'] } },
    },
  });
  expect([await shownIds(), await shownIds('check-out'), await shownIds('thanks')]).toEqual([[ids.offer], [], []]);
  const reason = async (placement: string) => {
    const payload = { placement };
    const headers = { authorization: `Bearer ${me.key}` };
    const answer = await t.app.inject({ method: 'POST', url: '/manage/v1/explain', headers, payload });
    return answer.json().data.offers[0];
  };
  expect(await reason('check-out')).toMatchObject({
    rule: 'blocked_by_publisher',
    reason: 'The publisher blocks the brand Farm at check-out.',
  });
  expect((await reason('thanks')).reason).toMatch(/^The publisher’s allowed categories do not include “” at thanks\.$/);
  await me.call('PUT', path, { placements: { thanks: { blocked: {} } } });
  expect([(await me.call('GET', path)).body.data.placements, await shownIds('thanks')]).toEqual([{}, [ids.offer]]);
  const wrong = await me.call('PUT', path, {
    placements: { '': {}, thanks: { allowed: { domains: ['a b'], offers: [1] } } },
  });
  expect(wrong.status).toBe(400);
});

test('allow lists apply at once, and the form keeps the rules of other placements', async () => {
  await me.call('PUT', path, { allowed: { advertisers: [ids.advertiser] }, floors: { checkout: 0 } });
  expect(await shownIds()).toEqual([ids.offer]);
  const user = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  expect((await user.get(page)).body).toContain(`href="${page}?placement=checkout"`);
  const etag = String((await me.call('GET', path)).headers.etag);
  const fields = { _version: etag, placement: 'checkout', 'allowed.categories': 'Shoes', _confirmed: 'on' };
  expect((await user.post(page, fields)).statusCode).toBe(303);
  expect((await me.call('GET', path)).body.data).toMatchObject({
    allowed: { advertisers: [ids.advertiser] },
    floors: { checkout: 0 },
    placements: { checkout: { allowed: { categories: ['Shoes'] } } },
  });
  expect([await shownIds(), await shownIds('thanks')]).toEqual([[], [ids.offer]]);
  expect((await user.get(`${page}?placement=checkout`)).body).toContain('value="Shoes"');
});

test('a placement may have the name of a built-in object property', async () => {
  const user = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls?placement=constructor`;
  expect((await user.get(page)).statusCode).toBe(200);
  const placements = { constructor: { blocked: { words: ['half off'] } } };
  await me.call('PUT', path, { placements });
  expect((await user.get(page)).body).toContain('half off</textarea>');
  for (const rules of [
    { placements: { constructor: { blocked: { offers: [ids.offer] } } } },
    { floors: { constructor: 5000 } },
  ]) {
    expect((await me.call('PUT', path, rules)).status).toBe(200);
    expect((await me.call('GET', path)).body.data).toMatchObject(rules);
    expect([await shownIds('constructor'), await shownIds()]).toEqual([[], [ids.offer]]);
  }
  await me.call('PUT', path, {});
  expect(await shownIds('constructor')).toEqual([ids.offer]);
});

test('the API and the page warn of public suffixes before they are saved', async () => {
  const rules = {
    blocked: { domains: ['Co.Uk.', 'shop.co.uk', 'github.io', '203.0.113.9'] },
    allowed: { domains: ['example', 'xn--55qx5d.cn'] },
    placements: { checkout: { blocked: { domains: ['a.com.au', 'com.au'] } } },
    separate: { competitors: ['Shop', 'shop.com', 'co.jp'] },
  };
  const dry = await me.call('PUT', `${path}?dry_run=true`, rules);
  const warned = (dry.body.warnings as unknown as { path: string; message: string }[]).filter(({ path }) =>
    /\d$/.test(path),
  );
  expect(warned.map(({ path }) => path)).toEqual([
    '/blocked/domains/0',
    '/allowed/domains/1',
    '/placements/checkout/blocked/domains/1',
    '/separate/competitors/2',
  ]);
  expect(warned[0]?.message).toBe(
    'Co.Uk. is a public suffix, so this affects every site below it. Enter a complete domain.',
  );
  const user = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  const warning = 'Anyone can register names under com. The rule applies to every site under it.';
  const typed = { 'blocked.domains': 'com, shop.com' };
  const [checked, unconfirmed] = [await user.post(page, { ...typed, _check: '1' }), await user.post(page, typed)];
  expect([checked.statusCode, checked.body]).toEqual([200, expect.stringContaining(warning)]);
  expect([unconfirmed.statusCode, unconfirmed.body]).toEqual([422, expect.stringContaining(warning)]);
  expect(unconfirmed.body).toContain('Save anyway');
  expect((await me.call('GET', path)).body.data.blocked).toMatchObject({ domains: [] });
  expect((await user.post(page, { ...typed, _confirmed: 'on' })).statusCode).toBe(303);
  // A warning that was confirmed does not appear again.
  expect((await user.post(page, { ...typed, 'blocked.words': 'never written' })).statusCode).toBe(303);
  expect((await user.get(page)).body).toContain(warning);
});

test('the page warns of a placement without offers before saving, in both forms', async () => {
  const user = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  const there = { placement: 'checkout', 'allowed.brands': 'Other' };
  const warning = 'These rules block every offer at checkout. No offers will be shown there.';
  const [checked, unconfirmed] = [await user.post(page, { ...there, _check: '1' }), await user.post(page, there)];
  expect([checked.statusCode, checked.body]).toEqual([200, expect.stringContaining(warning)]);
  expect([unconfirmed.statusCode, unconfirmed.body]).toEqual([422, expect.stringContaining(warning)]);
  expect(await shownIds()).toEqual([ids.offer]);
  expect((await user.post(page, { ...there, _confirmed: 'on' })).statusCode).toBe(303);
  expect([await shownIds(), await shownIds('thanks')]).toEqual([[], [ids.offer]]);
  const all = await user.post(page, { 'blocked.brands': 'Farm' });
  expect([all.statusCode, all.body]).toEqual([
    422,
    expect.stringContaining('These rules block every offer. No offers'),
  ]);
  expect(all.body).not.toContain(warning);
});

test('blocked offers are listed with the rule that blocks each of them, at all placements or at one', async () => {
  await me.call('PUT', path, { placements: { checkout: { blocked: { domains: ['farm.example'] } } } });
  const blocked = async () => (await me.call('GET', `${path}/blocked`)).body.data;
  const there = { by: 'domain', value: 'farm.example', placement: 'checkout' };
  expect(await blocked()).toEqual([
    expect.objectContaining({ offer_id: ids.offer, advertiser_name: 'Farm', blocks: [there] }),
  ]);
  await me.call('PUT', path, { blocked: { brands: ['Farm'] } });
  const user = await signInAs(t, 'analyst', me.publisherId);
  expect(await blocked()).toEqual([
    expect.objectContaining({ blocks: [{ by: 'brand', value: 'Farm', placement: null }] }),
  ]);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  expect((await user.get(page)).body).toContain('The publisher blocks the brand Farm.');
  await me.call('PUT', path, {});
  expect(await blocked()).toEqual([]);
});

test('the rules can be tested with a landing page, an advertiser, a category or a text', async () => {
  await me.call('PUT', path, {
    blocked: { domains: ['shop.example'], words: ['half off'] },
    allowed: { categories: ['Food'] },
    placements: { thanks: { blocked: { brands: ['Rival'] } } },
  });
  const blocksOf = async (sample: object) => (await me.call('POST', `${path}/test`, sample)).body.data;
  const domain = { by: 'domain', value: 'shop.example', placement: null };
  expect(await blocksOf({ landing_url: 'https://www.shop.example/x' })).toEqual({ blocked: true, blocks: [domain] });
  expect(await blocksOf({ landing_url: 'https://other.example/' })).toEqual({ blocked: false, blocks: [] });
  expect(await blocksOf({ text: 'Now HALF off' })).toMatchObject({ blocks: [{ by: 'word' }] });
  expect(await blocksOf({ category: 'Shoes' })).toMatchObject({ blocks: [{ by: 'not_category', value: 'Shoes' }] });
  expect(await blocksOf({ advertiser_name: 'rival' })).toMatchObject({ blocks: [{ placement: 'thanks' }] });
  expect(await blocksOf({})).toEqual({ blocked: false, blocks: [] });
  expect((await me.call('POST', `${path}/test`, { url: 'x' })).status).toBe(400);
  const user = await signInAs(t, 'analyst', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  const tested = (await user.get(`${page}?url=www.shop.example`)).body;
  expect(tested).toContain('The publisher blocks the domain shop.example.');
  expect((await user.get(`${page}?url=other.example`)).body).toContain('No rule blocks an offer with these values.');
  expect((await user.get(`${page}?url=https%3A%2F%2F`)).body).toContain('Enter a URL such as');
});

const inMinutes = (minutes: number): string => new Date(Date.now() + aheadMs + minutes * 60_000).toISOString();

test('a rule ends by itself in every process, and stays listed with its note', async () => {
  const other = await startCatalogStore({
    pool: t.pool,
    databaseUrl: t.databaseUrl,
    logger: createLogger('silent'),
    buildIndex,
    now: () => Date.now() + aheadMs,
  });
  const blocksElsewhere = () => other.current().publishers.get(me.publisherId)?.controls !== null;
  try {
    const ends = inMinutes(5);
    const rule_details = [{ by: 'brand', value: 'Farm', note: ' Contract ', ends_at: ends }];
    const put = await me.call('PUT', path, { blocked: { brands: ['Farm'] }, rule_details });
    const stored = [{ by: 'brand', value: 'Farm', placement: null, note: 'Contract', ends_at: ends }];
    expect([put.status, put.body.data.rule_details]).toEqual([200, stored]);
    expect(await shownIds()).toEqual([]);
    await expect.poll(blocksElsewhere).toBe(true);
    aheadMs += 5 * 60_000;
    await expect.poll(() => shownIds()).toEqual([ids.offer]);
    await expect.poll(blocksElsewhere).toBe(false);
    const { data } = (await me.call('GET', path)).body;
    expect(data).toMatchObject({ rule_details: stored, blocked: { brands: ['Farm'] }, offers: { blocked: 0 } });
    expect((await me.call('POST', `${path}/test`, { advertiser_name: 'Farm' })).body.data.blocked).toBe(false);
    expect((await me.call('GET', `${path}/cost`)).body.data.rules).toEqual([]);
    const { body } = await me.call('GET', '/audit?resource=controls');
    expect(JSON.stringify(body.data)).toContain('"note":"Contract"');
    const again = { ...stored[0], ends_at: null };
    await me.call('PUT', path, { blocked: { brands: ['Farm'] }, rule_details: [again] });
    expect(await shownIds()).toEqual([]);
  } finally {
    await other.stop();
  }
});

test('details need a rule and a valid time, and are removed with their rule', async () => {
  const wrong = await me.call('PUT', path, {
    blocked: { brands: ['Farm'] },
    rule_details: [
      { by: 'brand', value: 'Farm', ends_at: 'tomorrow' },
      { by: 'brand', value: 'Farm', note: 'twice' },
      { by: 'brand', value: 'Other', note: 'x' },
      { by: 'brand', value: 'Farm', placement: 'checkout', note: 'x' },
    ],
  });
  expect([wrong.status, details(wrong).map((detail) => detail.path)]).toEqual([
    400,
    ['/rule_details/0/ends_at', '/rule_details/1', '/rule_details/2', '/rule_details/3'],
  ]);
  const rules = { allowed: { brands: ['Farm'] }, floors: { 'Check Out': 2 }, separate: { categories: true } };
  const put = await me.call('PUT', path, {
    ...rules,
    rule_details: [
      { by: 'floor', value: 'Check Out', note: 'Costs' },
      { by: 'allowed_brands', note: '' },
      { by: 'separation', value: 'categories', note: 'Wish of the shop' },
    ],
  });
  const floor = { by: 'floor', value: 'check-out', placement: null, note: 'Costs', ends_at: null };
  const separation = { ...floor, by: 'separation', value: '', note: 'Wish of the shop' };
  expect(put.body.data.rule_details).toEqual([floor, separation]);
  const user = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  const fields = { _optional: 'floors separate.categories', 'allowed.mode': 'all', 'separate.categories': 'on' };
  expect((await user.post(page, fields)).statusCode).toBe(303);
  expect((await me.call('GET', path)).body.data).toMatchObject({ floors: {}, rule_details: [separation] });
});

test('the page adds, edits and removes single rules, and shows when they end', async () => {
  const user = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  const get = async () => (await me.call('GET', path)).body.data as { blocked: object; rule_details: object[] };
  const added = { _rule: 'new', by: 'brand', 'value.brand': 'Rival, Other <b>', note: 'Contract <1>' };
  expect((await user.post(page, { ...added, ends_at: inMinutes(3 * 24 * 60).slice(0, 16) })).statusCode).toBe(303);
  const { body } = await user.get(page);
  expect(body).toContain('Contract &lt;1&gt;');
  expect(body).toContain('Ends in 3 days');
  expect((await get()).rule_details).toHaveLength(2);
  const edited = JSON.stringify(['brand', 'Rival', null]);
  const change = { _rule: edited, note: 'Still', ends_at: inMinutes(-60).slice(0, 16) };
  expect((await user.get(`${page}?rule=${encodeURIComponent(edited)}`)).body).toContain('Edit rule');
  expect((await user.post(page, change)).statusCode).toBe(303);
  expect((await user.get(page)).body).toContain('>Ended<');
  // A page that was opened before the release with ends keeps the stored end.
  expect((await user.post(page, { _rule: edited, note: 'Newer' })).statusCode).toBe(303);
  expect((await get()).rule_details).toContainEqual(
    expect.objectContaining({ value: 'Rival', note: 'Newer', ends_at: expect.any(String) }),
  );
  expect((await user.post(page, { _rule: edited, _remove: '1' })).statusCode).toBe(303);
  expect(await get()).toMatchObject({ blocked: { brands: ['Other <b>'] }, rule_details: [{ value: 'Other <b>' }] });
  const gone = await user.post(page, { _rule: edited, note: 'x' });
  expect([gone.statusCode, gone.body]).toEqual([422, expect.stringContaining('The rule no longer exists.')]);
  const empty = await user.post(page, { _rule: 'new', by: 'word' });
  expect([empty.statusCode, empty.body]).toEqual([422, expect.stringContaining('Enter at least one value.')]);
  const all = { _rule: 'new', by: 'advertiser', 'value.advertiser': String(ids.advertiser) };
  const unconfirmed = await user.post(page, all);
  expect([unconfirmed.statusCode, unconfirmed.body]).toEqual([422, expect.stringContaining('Save anyway')]);
  expect((await user.post(page, { ...all, _confirmed: 'on' })).statusCode).toBe(303);
  expect(await shownIds()).toEqual([]);
});
