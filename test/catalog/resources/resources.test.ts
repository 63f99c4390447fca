import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from './support.ts';

let t: ManagementApp;
let me: Caller;
let ids: Record<string, number>;
beforeAll(async () => {
  t = await createManagementApp();
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  ids = await addCatalogue(me);
});

const details = (reply: { body: object }) =>
  (reply.body as { error: { details: { path: string; message: string }[] } }).error.details;

describe('an offer', () => {
  test('is served by fetch-offers as soon as the call that created or changed it has returned', async () => {
    const fetchOffers = async () => {
      const answer = await t.app.inject({
        method: 'POST',
        url: `/native/v4/offers.json?api_key=${me.key}`,
        payload: { placement: 'checkout', ip: '203.0.113.9' },
      });
      return answer.json().data.offers.map(({ title }: { title: string }) => title);
    };
    expect(await fetchOffers()).toEqual(['Half off']);
    await me.call('PATCH', `/offers/${ids.offer}`, { title: 'Two thirds off' });
    expect(await fetchOffers()).toEqual(['Two thirds off']);
    await me.call('PATCH', `/campaigns/${ids.campaign}`, { active: false });
    expect(await fetchOffers()).toEqual([]);
  });

  test('is rejected with each field over a limit, and saved with a warning above the ideal length', async () => {
    const reply = await me.call('POST', '/offers', {
      campaign_id: ids.campaign,
      title: 'x'.repeat(91),
      cta_yes: 'y'.repeat(26),
      weight: 1.5,
    });
    expect(reply.status).toBe(400);
    expect(details(reply)).toEqual([
      { path: '/weight', message: 'The value must be a whole number.' },
      { path: '/title', message: 'The text can be at most 90 characters long, but it has 91.' },
      { path: '/cta_yes', message: 'The text can be at most 25 characters long, but it has 26.' },
    ]);
    const saved = await me.call('POST', '/offers', { campaign_id: ids.campaign, title: '🎁'.repeat(90) });
    expect(saved.status).toBe(201);
    expect(saved.body.data.title).toBe('🎁'.repeat(90));
    expect(saved.body.warnings).toEqual([
      { path: '/title', message: 'The text is 90 characters long. At most 40 are recommended.' },
    ]);
  });

  test('has its terms sanitised on save', async () => {
    const terms = '<p onclick="x()">Fine <script>alert(1)</script><a href="javascript:alert(1)">print</a></p>';
    const { body } = await me.call('PATCH', `/offers/${ids.offer}`, { terms_and_conditions: terms });
    expect(body.data.terms_and_conditions).toBe(
      '<p>Fine <a rel="noopener noreferrer nofollow" target="_blank">print</a></p>',
    );
  });

  test.each([
    ['a NUL character', 'a\0b'],
    ['an unpaired surrogate', 'a\ud800b'],
  ])('is rejected instead of causing a failure if a text contains %s', async (_name, title) => {
    const reply = await me.call('POST', '/offers', { campaign_id: ids.campaign, title });
    expect(reply.status).toBe(400);
    expect(details(reply)).toEqual([
      { path: '/title', message: 'The text contains characters that cannot be stored: NUL or unpaired surrogates.' },
    ]);
  });

  test('can be sent back as received, but not moved to another campaign', async () => {
    const { body } = await me.call('GET', `/offers/${ids.offer}`);
    expect((await me.call('PUT', `/offers/${ids.offer}`, body.data)).status).toBe(200);
    const other = await me.call('POST', '/campaigns', {
      advertiser_id: ids.advertiser,
      name: 'Other',
      landing_url: 'https://farm.example/',
    });
    const moved = await me.call('PATCH', `/offers/${ids.offer}`, { campaign_id: other.body.data.id });
    expect(details(moved)).toEqual([{ path: '/campaign_id', message: 'This field cannot be changed.' }]);
    expect(details(await me.call('PATCH', `/offers/${ids.offer}`, { id: 1, colour: 'red' }))).toEqual([
      { path: '/id', message: 'This field cannot be changed.' },
    ]);
    expect(details(await me.call('PATCH', `/offers/${ids.offer}`, { colour: 'red' }))).toEqual([
      { path: '/colour', message: 'This field is unknown. Check its spelling, or remove it.' },
    ]);
  });
});

describe('updating a resource', () => {
  test('resets missing fields to their defaults with PUT, and keeps them with PATCH', async () => {
    const path = `/campaigns/${ids.campaign}`;
    await me.call('PATCH', path, { priority: 7, tags: ['food'], payout_amount: 1.25, rules: { force_priority: true } });
    expect((await me.call('PATCH', path, { weight: 3 })).body.data).toMatchObject({
      priority: 7,
      tags: ['food'],
      payout_amount: 1.25,
      rules: { force_priority: true },
      weight: 3,
    });
    const { body } = await me.call('PUT', path, {
      advertiser_id: ids.advertiser,
      name: 'New',
      landing_url: 'https://farm.example/',
    });
    expect(body.data).toMatchObject({ name: 'New', priority: 100, tags: [], payout_amount: 0, rules: {}, weight: 100 });
  });
});

describe('two users who change the same offer', () => {
  test('412: the second user with an outdated ETag gets the current state', async () => {
    const path = `/offers/${ids.offer}`;
    const etag = String((await me.call('GET', path)).headers.etag);
    const first = await me.call('PATCH', path, { title: 'First' }, { 'if-match': etag });
    expect(first.status).toBe(200);
    expect(first.headers.etag).not.toBe(etag);
    const second = await me.call('PATCH', path, { title: 'Second' }, { 'if-match': etag });
    expect(second.status).toBe(412);
    expect(second.body).toMatchObject({ error: { code: 'precondition_failed' } });
    expect(details(second)).toEqual([{ path: '/title', message: 'The current value is "First".' }]);
    for (const unknown of [{ titel: 'x' }, { toString: 'x' }])
      expect((await me.call('PATCH', path, unknown, { 'if-match': etag })).status).toBe(412);
    expect((await me.call('DELETE', path, undefined, { 'if-match': etag })).status).toBe(412);
    expect((await me.call('PATCH', path, { title: 'Second' }, { 'if-match': String(first.headers.etag) })).status).toBe(
      200,
    );
    expect((await me.call('GET', path)).body.data.title).toBe('Second');
  });

  test('exactly one of 8 concurrent changes with the same ETag succeeds', async () => {
    const path = `/offers/${ids.offer}`;
    const etag = String((await me.call('GET', path)).headers.etag);
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) => me.call('PATCH', path, { title: `Writer ${n}` }, { 'if-match': etag })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412, 412, 412, 412]);
  });

  test('304: a client with the current state gets no body', async () => {
    const { headers } = await me.call('GET', `/offers/${ids.offer}`);
    expect(
      (await me.call('GET', `/offers/${ids.offer}`, undefined, { 'if-none-match': String(headers.etag) })).status,
    ).toBe(304);
  });
});

describe('a theme', () => {
  test('is rejected with User Selected Perks on a single offer unit', async () => {
    const reply = await me.call('POST', '/themes', { name: 'One', unit: 'sou', usp_enabled: true });
    expect(reply.status).toBe(400);
    expect(details(reply)).toEqual([{ path: '/usp_enabled', message: expect.stringContaining('multi-offer unit') }]);
    const theme = await me.call('POST', '/themes', { name: 'Many', unit: 'mou', usp_enabled: true });
    expect(theme.body.data.usp_check_all).toBe(false);
    expect((await me.call('PATCH', `/themes/${theme.body.data.id}`, { unit: 'sou' })).status).toBe(400);
  });

  test('has a unique key, either specified or generated from its name', async () => {
    const make = (fields: object) => me.call('POST', '/themes', { unit: 'mou', ...fields });
    const withKey = await make({ name: 'Night', key: ' Dark_Mode ' });
    expect(withKey.body.data.key).toBe('dark-mode');
    const generated = await make({ name: 'Dark mode' });
    expect(generated.body.data.key).toBe('dark-mode-2');
    expect((await make({ name: '2024' })).body.data.key).toBe('theme-2024');
    expect((await make({ name: '夜 & Tag!' })).body.data.key).toBe('夜-tag');
    expect((await make({ name: '***' })).body.data.key).toBe('theme');
    const conflict = await make({ name: 'Other', key: 'dark-mode' });
    expect([conflict.status, details(conflict)]).toEqual([
      409,
      [{ path: '/key', message: 'This value is already in use. Choose another one.' }],
    ]);
    for (const key of ['42', 'a/b', '<b>', 'x'.repeat(65)]) {
      const refused = await make({ name: 'Odd', key });
      expect([refused.status, details(refused)[0]?.path], key).toEqual([400, '/key']);
    }
    const { id } = withKey.body.data;
    expect((await me.call('PATCH', `/themes/${id}`, { name: 'Dusk' })).body.data.key).toBe('dark-mode');
    expect((await me.call('PUT', `/themes/${id}`, { name: 'Dusk', unit: 'mou' })).body.data.key).toBe('dark-mode');
    expect((await me.call('DELETE', `/themes/${id}`)).status).toBe(204);
    expect((await make({ name: 'Again', key: 'dark-mode' })).status).toBe(201);
  });

  test('never stores the API key in the body as its own key', async () => {
    const body = { name: 'Quiet', unit: 'mou', key: me.key };
    const reply = await t.app.inject({ method: 'POST', url: '/manage/v1/themes', payload: body });
    expect([reply.statusCode, reply.json().data.key]).toEqual([201, 'quiet']);
  });

  test('gets its own key even if others of the same name are created concurrently', async () => {
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => me.call('POST', '/themes', { name: 'Twin', unit: 'sou' })),
    );
    expect(new Set(replies.map(({ body }) => body.data.key)).size).toBe(6);
  });

  test('accepts only known settings and styles, with the right types', async () => {
    const reply = await me.call('POST', '/themes', {
      name: 'Odd',
      unit: 'mou',
      settings: { delay: 'soon', nonsense: 1, privacy_policy: 'javascript:alert(1)' },
      styles: { popup: { borderRadius: { top_left: '4px' } }, header: [] },
    });
    expect(details(reply)).toEqual([
      { path: '/settings/nonsense', message: 'This field is unknown. Check its spelling, or remove it.' },
      { path: '/settings/delay', message: 'The value must be a whole number.' },
      { path: '/styles/header', message: 'The value must be an object.' },
    ]);
    const shape = await me.call('POST', '/themes', {
      name: 'Odd',
      unit: 'mou',
      settings: { privacy_policy: 'javascript:alert(1)' },
      styles: { popup: { borderRadius: { top_left: '4px' } } },
    });
    expect(details(shape).map(({ path }) => path)).toEqual([
      '/settings/privacy_policy',
      '/styles/popup/borderRadius/top_left',
    ]);
    const good = await me.call('POST', '/themes', {
      name: 'Good',
      unit: 'mou',
      settings: { delay: 300, enable_usp: true },
    });
    expect(good.status).toBe(201);
    expect(good.body.warnings).toEqual([
      { path: '/settings/enable_usp', message: expect.stringContaining('no effect') },
    ]);
  });

  test('replaces the previous default when it becomes the default', async () => {
    const { body } = await me.call('POST', '/themes', { name: 'New', unit: 'sou', is_default: true });
    expect((await me.call('GET', `/themes/${ids.theme}`)).body.data.is_default).toBe(false);
    const list = await me.call('GET', '/themes?is_default=true');
    expect((list.body.data as unknown as { id: number }[]).map(({ id }) => id)).toEqual([body.data.id]);
  });

  test('409: cannot be removed while placements use it', async () => {
    const reply = await me.call('DELETE', `/themes/${ids.theme}`);
    expect(reply.status).toBe(409);
    expect(details(reply)).toEqual([{ path: '/', message: 'It is still used by 1 placement.' }]);
    await me.call('PATCH', '/placements/checkout', { theme_id: null });
    expect((await me.call('DELETE', `/themes/${ids.theme}`)).status).toBe(204);
    expect((await me.call('GET', `/themes/${ids.theme}`)).status).toBe(404);
    expect(t.deps.catalog.current().publishers.get(me.publisherId)?.themes.size).toBe(0);
  });
});

describe('removal', () => {
  test("pauses a campaign's offers, and requires an advertiser's campaigns to be removed first", async () => {
    expect((await me.call('DELETE', `/advertisers/${ids.advertiser}`)).status).toBe(409);
    expect((await me.call('DELETE', `/campaigns/${ids.campaign}`)).status).toBe(204);
    expect((await me.call('GET', `/offers/${ids.offer}`)).body.data.active).toBe(false);
    expect((await me.call('DELETE', `/advertisers/${ids.advertiser}`)).status).toBe(204);
    expect((await me.call('GET', '/campaigns')).body.data).toEqual([]);
    expect((await me.call('GET', '/campaigns?removed=true')).body.data).toEqual([
      expect.objectContaining({ id: ids.campaign, deleted_at: expect.any(String) }),
    ]);
    const offer = await me.call('POST', '/offers', { campaign_id: ids.campaign });
    expect(details(offer)).toEqual([{ path: '/campaign_id', message: 'The campaign was not found.' }]);
  });

  test('can be undone for 30 days, including the offers that a campaign paused', async () => {
    const paused = await me.call('POST', '/offers', { campaign_id: ids.campaign, title: 'Paused', active: false });
    const before = (await me.call('GET', `/campaigns/${ids.campaign}`)).body.data;
    const restore = (path: string) => me.call('POST', `/${path}/restore`);
    expect((await restore(`campaigns/${ids.campaign}`)).status).toBe(404);
    await me.call('DELETE', `/campaigns/${ids.campaign}`);
    await me.call('DELETE', `/advertisers/${ids.advertiser}`);
    expect(details(await restore(`campaigns/${ids.campaign}`))).toEqual([
      { path: '/advertiser_id', message: 'The advertiser was not found. Restore it first.' },
    ]);
    expect((await restore(`advertisers/${ids.advertiser}`)).status).toBe(200);
    const restored = (await restore(`campaigns/${ids.campaign}`)).body.data;
    expect(restored).toEqual({ ...before, updated_at: restored.updated_at });
    const offerIsActive = async (id: unknown) => (await me.call('GET', `/offers/${id}`)).body.data.active;
    expect(await Promise.all([ids.offer, paused.body.data.id].map(offerIsActive))).toEqual([true, false]);
    expect((await me.call('GET', `/audit?resource=campaigns&limit=1`)).body.data).toMatchObject([
      { action: 'restore', resource_id: String(ids.campaign) },
    ]);
    await me.call('DELETE', `/campaigns/${ids.campaign}`);
    await t.pool.query("update campaigns set deleted_at = now() - interval '31 days' where id = $1", [ids.campaign]);
    expect((await restore(`campaigns/${ids.campaign}`)).status).toBe(404);
    const otherPublisher = await t.caller(await t.addPublisher());
    await me.call('DELETE', `/offers/${ids.offer}`);
    expect((await otherPublisher.call('POST', `/offers/${ids.offer}/restore`)).status).toBe(404);
  });

  test('cannot be undone for a theme whose key is in use again', async () => {
    const key = (await me.call('GET', `/themes/${ids.theme}`)).body.data.key;
    await me.call('PATCH', '/placements/checkout', { theme_id: null });
    await me.call('DELETE', `/themes/${ids.theme}`);
    await me.call('POST', '/themes', { name: 'Next', unit: 'mou', key });
    const refused = await me.call('POST', `/themes/${ids.theme}/restore`);
    expect([refused.status, details(refused)]).toEqual([
      409,
      [{ path: '/key', message: 'This value is already in use. Choose another one.' }],
    ]);
  });
});

describe('a campaign', () => {
  test.each([
    [{ rules: { targeting: { countries: { include: ['UK'] } } } }, '/rules/targeting/countries/include/0'],
    [{ landing_url: 'http://farm.example/' }, '/landing_url'],
    [{ landing_url: 'https://user:pass@farm.example/' }, '/landing_url'],
    [{ landing_url: 'https://{placement}.farm.example/' }, '/landing_url'],
    [{ payout_amount: 0.1234567 }, '/payout_amount'],
    [{ payout_kind: 'cps', payout_amount: 101 }, '/payout_amount'],
    [{ payout_kind: 'cps', payout_amount: { toString: 1 } }, '/payout_amount'],
    [{ payout_currency: 'usd' }, '/payout_currency'],
    [{ tags: ['a', 'a'] }, '/tags'],
    [{ advertiser_id: 2 ** 31 }, '/advertiser_id'],
    [{ priority: null }, '/priority'],
    [{ name: '   ' }, '/name'],
    [{ opt_out_days: 0 }, '/opt_out_days'],
  ])('with %j is rejected at %s', async (change, path) => {
    const reply = await me.call('PATCH', `/campaigns/${ids.campaign}`, change);
    expect(reply.status).toBe(400);
    expect(details(reply).map((detail) => detail.path)).toEqual([path]);
  });
});

describe('a placement', () => {
  test('is stored under the normalised name that requests are counted under', async () => {
    const { status, body } = await me.call('POST', '/placements', { name: ' Order  Done_Page ' });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ name: 'order-done-page', auto_created: false });
    expect((await me.call('POST', '/placements', { name: 'order done page' })).status).toBe(409);
    expect((await me.call('GET', '/placements/order-done-page')).status).toBe(200);
    expect((await me.call('DELETE', '/placements/order-done-page')).status).toBe(204);
  });
});

describe('publishers', () => {
  test('201 and 403: only an operator creates one, which gets its own SDK ID', async () => {
    const { status, body } = await t.operator.call('POST', '/publishers', {
      name: 'Shop',
      usp_enabled: true,
      time_zone: 'Europe/Berlin',
    });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      name: 'Shop',
      usp_enabled: true,
      sdk_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect((await me.call('POST', '/publishers', { name: 'Mine' })).status).toBe(403);
  });

  test('only an operator enables perks, wallet and offerwall, and a publisher changes other settings', async () => {
    const path = `/publishers/${me.publisherId}`;
    for (const field of ['usp_enabled', 'wallet_enabled', 'offerwall_enabled']) {
      const denied = await me.call('PATCH', path, { [field]: true });
      expect(denied.status).toBe(403);
      expect(details(denied)).toEqual([{ path: `/${field}`, message: 'Only an operator can change this field.' }]);
      expect((await t.operator.call('PATCH', path, { [field]: true })).status).toBe(200);
    }
    const { body } = await me.call('GET', path);
    expect(
      (await me.call('PUT', path, { ...body.data, offers_per_response: 7, currency_multiplier: 2.5 })).status,
    ).toBe(200);
    expect((await me.call('GET', path)).body.data).toMatchObject({
      offers_per_response: 7,
      currency_multiplier: 2.5,
      usp_enabled: true,
    });
    expect((await me.call('PATCH', path, { time_zone: 'Mars/Olympus' })).status).toBe(400);
  });

  test('a publisher sees only itself, and an operator sees and acts for all', async () => {
    const listed = (await me.call('GET', '/publishers')).body.data as unknown as { id: number }[];
    expect(listed.map(({ id }) => id)).toEqual([me.publisherId]);
    expect(((await t.operator.call('GET', '/publishers')).body.data as unknown as unknown[]).length).toBeGreaterThan(1);
    expect((await t.operator.call('GET', `/offers/${ids.offer}`)).status).toBe(404);
    expect((await t.operator.call('GET', `/offers/${ids.offer}?publisher_id=${me.publisherId}`)).status).toBe(200);
    const other = await t.addPublisher();
    const foreign = await me.call('GET', `/offers?publisher_id=${other}`);
    const unknown = await me.call('GET', '/offers?publisher_id=999999999');
    expect(foreign.status).toBe(404);
    expect({ ...foreign.body, request_id: '' }).toEqual({ ...unknown.body, request_id: '' });
  });
});

test("a publisher's own privacy text is escaped", async () => {
  await me.call('PATCH', `/publishers/${me.publisherId}`, { privacy_text: 'We keep <b>little</b>.\n\nAsk us.' });
  const { body } = await me.call('GET', `/publishers/${me.publisherId}`);
  const page = await t.app.inject(`/privacy/${body.data.sdk_id}`);
  expect(page.body).toContain('<p dir="auto">We keep &lt;b&gt;little&lt;/b&gt;.</p>\n<p dir="auto">Ask us.</p>');
});

test('an operator provisions a campaign to another publisher, with overrides', async () => {
  const other = await t.caller(await t.addPublisher());
  const path = `/campaigns/${ids.campaign}/publishers`;
  const asOperator = `?publisher_id=${me.publisherId}`;
  const shownIds = async () => {
    const answer = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${other.key}`,
      payload: { placement: 'checkout' },
    });
    return answer.json().data.count;
  };
  expect(await shownIds()).toBe(0);
  expect((await me.call('PUT', `${path}/${other.publisherId}`, {})).status).toBe(403);
  const caps = [{ scope: 'campaign', event: 'impression', limit: 2, window_minutes: 60 }];
  const provision = await t.operator.call('PUT', `${path}/${other.publisherId}${asOperator}`, {
    payout_amount: 0.5,
    frequency_caps: caps,
  });
  expect(provision.status).toBe(200);
  expect(provision.body.data).toMatchObject({ active: true, payout_amount: 0.5, priority: null, frequency_caps: caps });
  expect(await shownIds()).toBe(1);
  expect((await me.call('GET', path)).body.data).toEqual([expect.objectContaining({ publisher_id: me.publisherId })]);
  expect((await t.operator.call('GET', `${path}${asOperator}`)).body.data).toHaveLength(2);
  expect((await t.operator.call('PUT', `${path}/${other.publisherId}${asOperator}`, { total_caps: [{}] })).status).toBe(
    400,
  );
  expect((await t.operator.call('PUT', `${path}/999999999${asOperator}`, {})).status).toBe(404);
  await t.operator.call('PUT', `${path}/${other.publisherId}${asOperator}`, { active: false });
  expect(await shownIds()).toBe(0);
});

test('a share of the sale never exceeds the sale, at any publisher', async () => {
  const other = await t.addPublisher();
  const path = `/campaigns/${ids.campaign}/publishers/${other}?publisher_id=${me.publisherId}`;
  const payout = async (payoutAmount: number) =>
    (await t.operator.call('PUT', path, { payout_amount: payoutAmount })).status;
  const kind = (payoutKind: string) =>
    me.call('PATCH', `/campaigns/${ids.campaign}`, { payout_kind: payoutKind, payout_amount: 8 });
  await kind('cpa');
  expect(await payout(150)).toBe(200);
  expect(await kind('cps')).toMatchObject({
    status: 400,
    body: { error: { details: [{ path: '/payout_kind', message: expect.stringContaining(`above 100: ${other}.`) }] } },
  });
  expect(await payout(12.5)).toBe(200);
  expect((await kind('cps')).status).toBe(200);
  expect(await payout(150)).toBe(400);
  await t.operator.call('PUT', path, { active: false });
  await kind('cpc');
});

test('403: a key needs the permission of each resource type', async () => {
  const reader = await t.caller(me.publisherId, ['reports', 'ads/offers']);
  for (const path of ['/themes', '/offers', '/publishers', '/keys', '/audit'])
    expect((await reader.call('GET', path)).status).toBe(403);
  const manager = await t.caller(me.publisherId, ['offers/management']);
  expect((await manager.call('GET', '/offers')).status).toBe(200);
  expect((await manager.call('GET', '/themes')).status).toBe(403);
});

describe('the default placement of a publisher', () => {
  const paths = [
    ...['/native/v1/offers.json', '/native/v2/offers.json', '/native/v4/offers.json'],
    ...['/native/v4/offerwall.json', '/native/v4/perkswall.json', '/native/v2/perkswall.json'],
  ];
  const bodies = [undefined, {}, { placement: '' }, { placement: ' ' }, { placement: null }];
  const answersOf = async (): Promise<(string | undefined)[]> => {
    const calls = paths.flatMap((path) => bodies.map((body) => ({ url: `${path}?api_key=${me.key}`, body })));
    const replies = await Promise.all(
      calls.map(({ url, body }) =>
        t.app.inject({ method: 'POST', url, ...(body && { payload: { ...body, ip: '203.0.113.9' } }) }),
      ),
    );
    return replies.map((reply) => (reply.statusCode === 200 ? '200' : reply.json().error.message));
  };
  const publisher = () => `/publishers/${me.publisherId}`;

  beforeEach(() => t.operator.call('PATCH', publisher(), { offerwall_enabled: true }));

  test('is null at first, so that fetches without a placement are rejected with a hint to the setting', async () => {
    expect((await me.call('GET', publisher())).body.data.default_placement).toBeNull();
    expect([...new Set(await answersOf())]).toEqual([expect.stringContaining('"default_placement"')]);
  });

  test('is normalised and used by every fetch without a placement, until it is removed', async () => {
    const set = await me.call('PATCH', publisher(), { default_placement: ' Order_Receipt ' });
    expect(set.body.data.default_placement).toBe('order-receipt');
    expect(new Set(await answersOf())).toEqual(new Set(['200']));
    const { rows } = await t.pool.query('select distinct placement from sessions where publisher_id = $1', [
      me.publisherId,
    ]);
    expect(rows).toEqual([{ placement: 'order-receipt' }]);
    await me.call('PATCH', publisher(), { default_placement: null });
    expect(await answersOf()).not.toContain('200');
  });

  test.each(['', ' ', 'x'.repeat(129), 5])('cannot be set to %j', async (name) => {
    const reply = await me.call('PATCH', publisher(), { default_placement: name });
    expect([reply.status, details(reply).map(({ path }) => path)]).toEqual([400, ['/default_placement']]);
  });
});
