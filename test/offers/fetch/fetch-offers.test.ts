import { gzipSync } from 'node:zlib';
import { FormatRegistry } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import jsQR from 'jsqr';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FetchOffersAnswer, fetchOffersAnswer, offerSchemas } from '../../../src/offers/answer-schemas.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  FormatRegistry.Set('uri', (value) => URL.canParse(value));
  FormatRegistry.Set('uuid', (value) => /^[0-9a-f-]{36}$/.test(value));
  t = await createTestApp();
});
afterAll(() => t.close());

type Options = { query?: string; headers?: Record<string, string>; path?: string };

async function post(
  body: unknown,
  { query = 'api_key=demo-key', headers = {}, path = '/native/v2/offers.json' }: Options = {},
) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `${path}?${query}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
}

async function fetchOffers(body: object, options: Options = {}): Promise<FetchOffersAnswer['data']> {
  const answer = await post({ placement: 'checkout', ...body }, options);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.data;
}

const sessionCount = async (): Promise<number> =>
  Number((await t.pool.query('select count(*) from sessions')).rows[0].count);

describe('the response', () => {
  test('has every documented field with the documented type', async () => {
    const { body } = await post({ placement: 'checkout', pub_user_id: 'u-1' });
    expect(
      [...Value.Errors(fetchOffersAnswer, offerSchemas, body)].map(({ path, message }) => `${path} ${message}`),
    ).toEqual([]);
    expect(body.data.count).toBe(3);
    expect(body.data.styles.settings).toEqual(body.data.settings);
  });

  test('is the same for every version of the endpoint', async () => {
    const ids = [];
    for (const path of ['/native/v1/offers.json', '/native/v2/offers.json', '/native/v4/offers.json']) {
      ids.push((await fetchOffers({}, { path })).offers.map((offer) => offer.id));
    }
    expect(ids[1]).toEqual(ids[0]);
    expect(ids[2]).toEqual(ids[0]);
  });

  test('keeps every text within its limit for the whole catalogue', async () => {
    await t.pool.query('update publishers set offers_per_response = 10');
    await t.deps.catalog.refresh();
    const { rows } = await t.pool.query<{ id: number }>('select id from campaigns');
    for (const { id } of rows) {
      const { body } = await post(
        { placement: 'checkout', pub_user_id: 'u', first_name: '"<&>"'.repeat(90) },
        { query: `api_key=demo-key&loyaltyboost=1&campaignId=${id}` },
      );
      expect(Value.Check(fetchOffersAnswer, offerSchemas, body)).toBe(true);
      expect(body.data.count).toBe(1);
    }
    await t.pool.query('update publishers set offers_per_response = 3');
    await t.deps.catalog.refresh();
  });

  test('has deprecated field names next to the new ones with the same values', async () => {
    for (const offer of (await fetchOffers({}, { query: 'api_key=demo-key&loyaltyboost=2' })).offers) {
      expect(offer.is_loyaltyboost).toBe(offer.is_loyalty);
      expect(offer.loyaltyboost_requirements).toBe(offer.loyalty_requirements);
      expect(offer.perkswallet_enabled).toBe(offer.wallet_enabled);
    }
  });

  test('keeps the cache-buster token percent-encoded in the pixel', async () => {
    const [offer] = (await fetchOffers({})).offers;
    expect(offer?.pixel).toMatch(
      /^http:\/\/perks\.test\/sdk\/v2\/impression\/p\.png\?t=[\w-]{64}&cbuster=%7Bcbuster%7D$/,
    );
  });

  test('never uses the Host header as the origin of its URLs', async () => {
    const text = JSON.stringify(
      await fetchOffers(
        { pub_user_id: 'u' },
        { headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' } },
      ),
    );
    expect(text).not.toContain('evil.example');
  });

  test('has QR codes of 228×228 pixels that decode to a stable click URL without a user', async () => {
    const [first, again] = [await fetchOffers({ pub_user_id: 'u-8' }), await fetchOffers({ pub_user_id: 'another' })];
    for (const [index, offer] of first.offers.entries()) {
      const bytes = Buffer.from(offer.qr_code_img.replace('data:image/png;base64,', ''), 'base64');
      const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
      expect([info.width, info.height]).toEqual([228, 228]);
      const decoded = jsQR.default(new Uint8ClampedArray(data), info.width, info.height);
      expect(decoded?.data).toMatch(/^http:\/\/perks\.test\/sdk\/offer-click\?t=[\w-]{64}$/);
      expect(again.offers[index]?.qr_code_img).toBe(offer.qr_code_img);
      const colours = new Set<string>();
      for (let i = 0; i < data.length; i += 4) colours.add(`${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}`);
      expect(colours).toEqual(new Set(['0,0,0,255', '255,255,255,255']));
    }
  });

  test('shows offers by priority and then by weight, and only one per campaign', async () => {
    const { rows } = await t.pool.query<{ id: number }>(
      'select id from campaigns where not is_loyalty order by priority, weight desc, id limit 3',
    );
    expect((await fetchOffers({})).offers.map((offer) => offer.campaign_id)).toEqual(rows.map((row) => row.id));
  });

  test('is sent only after the session has been committed', async () => {
    const { session_id, offers } = await fetchOffers({ pub_user_id: 'u-9', basket: '12.50' });
    const { rows } = await t.pool.query(
      'select pub_user_id, placement, offer_ids, custom from sessions where id = $1',
      [session_id],
    );
    expect(rows).toEqual([
      {
        pub_user_id: 'u-9',
        placement: 'checkout',
        offer_ids: offers.map((offer) => offer.id),
        custom: { basket: '12.50' },
      },
    ]);
  });
});

describe('saving for later', () => {
  test('is offered only if the request has a user and the offer allows it', async () => {
    expect((await fetchOffers({})).offers.every((offer) => offer.save_for_later_url === null)).toBe(true);
    const { rows } = await t.pool.query<{ campaign_id: number; wallet_enabled: boolean }>(
      'select campaign_id, wallet_enabled from offers order by wallet_enabled limit 1',
    );
    expect(rows[0]?.wallet_enabled).toBe(false);
    const closed = await fetchOffers(
      { pub_user_id: 'u' },
      { query: `api_key=demo-key&loyaltyboost=1&campaignId=${rows[0]?.campaign_id}` },
    );
    expect(closed.offers[0]?.save_for_later_url).toBeNull();
    expect((await fetchOffers({ pub_user_id: 'u' })).offers[0]?.save_for_later_url).toMatch(
      /^http:\/\/perks\.test\/wallet/,
    );
  });
});

describe('User Selected Perks', () => {
  test('is announced only for a request with a user and a multi offer unit with the feature enabled', async () => {
    expect((await fetchOffers({ pub_user_id: 'u' })).settings).toMatchObject({
      enable_usp: true,
      multi_offer_unit: true,
      usp_all_offers_checked: false,
    });
    expect((await fetchOffers({})).settings).toMatchObject({ enable_usp: false, multi_offer_unit: true });
    const { rows } = await t.pool.query<{ id: number }>("select id from themes where unit = 'sou'");
    for (const name of ['themeId', 'theme_id']) {
      expect((await fetchOffers({ pub_user_id: 'u', [name]: rows[0]?.id })).settings).toMatchObject({
        enable_usp: false,
        multi_offer_unit: false,
      });
    }
    expect((await fetchOffers({ pub_user_id: 'u', placement: 'order-status' })).settings).toMatchObject({
      multi_offer_unit: false,
    });
  });
});

describe('a theme', () => {
  const isMulti = async (fields: object): Promise<unknown> =>
    (await fetchOffers({ placement: 'order-status', ...fields })).settings.multi_offer_unit;

  test('is identified by its ID or its key, in any spelling', async () => {
    const { rows } = await t.pool.query<{ id: number }>("select id from themes where key = 'perks-grid'");
    const id = rows[0]?.id as number;
    for (const name of [id, String(id), 'perks-grid', 'Perks Grid', ' PERKS_grid '])
      for (const field of ['themeId', 'theme_id']) expect(await isMulti({ [field]: name }), `${name}`).toBe(true);
  });

  test.each([
    'nowhere',
    '',
    '  ',
    0,
    -1,
    1.5,
    99999999999,
    'x'.repeat(5000),
    '\u0000',
    '__proto__',
    'constructor',
    true,
    ['perks-grid'],
    { id: 1 },
  ])('%j matches no theme, so the theme of the placement applies and the response is 200', async (themeId) => {
    expect(await isMulti({ themeId })).toBe(false);
  });

  test('is ignored if it belongs to another publisher', async () => {
    await t.pool.query(`insert into publishers (name, sdk_id) values ('Other', 'aaaaaaaaaaaaaaaa')`);
    await t.pool.query(`insert into themes (publisher_id, name, key, unit)
      select id, 'Foreign', 'foreign', 'mou' from publishers where sdk_id = 'aaaaaaaaaaaaaaaa'`);
    await t.deps.catalog.refresh();
    expect(await isMulti({ themeId: 'foreign' })).toBe(false);
  });
});

describe('filters', () => {
  test('loyaltyboost 0 excludes incentive offers, 1 includes them, 2 shows only them', async () => {
    await t.pool.query('update publishers set offers_per_response = 10');
    await t.deps.catalog.refresh();
    const shownBy = async (value: string) =>
      new Set(
        (await fetchOffers({}, { query: `api_key=demo-key&loyaltyboost=${value}` })).offers.map(
          (offer) => offer.is_loyalty,
        ),
      );
    expect(await shownBy('0')).toEqual(new Set([false]));
    expect(await shownBy('2')).toEqual(new Set([true]));
    await t.pool.query('update campaigns set priority = 1 where id = (select min(id) from campaigns where is_loyalty)');
    await t.deps.catalog.refresh();
    expect(await shownBy('1')).toEqual(new Set([true, false]));
    await t.pool.query('update publishers set offers_per_response = 3');
    await t.deps.catalog.refresh();
  });

  test('creative=1 excludes offers without an image, in the query or body', async () => {
    const { rows } = await t.pool.query<{ campaign_id: number }>(
      `select campaign_id from offers o group by campaign_id
        having count(*) filter (where exists (select 1 from creatives c where c.offer_id = o.id)) = 0`,
    );
    const query = `api_key=demo-key&loyaltyboost=1&campaignId=${rows[0]?.campaign_id}`;
    expect((await fetchOffers({}, { query })).count).toBe(1);
    expect((await fetchOffers({}, { query: `${query}&creative=1` })).count).toBe(0);
    expect((await fetchOffers({ creative: '1' }, { query })).count).toBe(0);
  });

  test('campaignId returns only that campaign, and an empty list for an unknown one', async () => {
    expect(
      (await fetchOffers({}, { query: 'api_key=demo-key&campaignId=4' })).offers.map((offer) => offer.campaign_id),
    ).toEqual([4]);
    for (const unknown of ['999999', '3000000000', '9'.repeat(20)])
      expect(await fetchOffers({}, { query: `api_key=demo-key&campaignId=${unknown}` })).toMatchObject({
        count: 0,
        offers: [],
      });
  });

  test('a unit that is turned off returns an empty list', async () => {
    await t.pool.query('update publishers set unit_enabled = false');
    await t.deps.catalog.refresh();
    expect(await fetchOffers({})).toMatchObject({ count: 0, offers: [] });
    await t.pool.query('update publishers set unit_enabled = true');
    await t.deps.catalog.refresh();
  });

  test('the placement overrides the offer count of the theme, which overrides that of the publisher', async () => {
    await t.pool.query("update themes set offers_per_response = 5 where unit = 'mou'");
    await t.pool.query("update placements set offers_per_response = 2 where name = 'account'");
    await t.deps.catalog.refresh();
    expect((await fetchOffers({})).count).toBe(5);
    expect((await fetchOffers({ placement: 'account' })).count).toBe(2);
    await t.pool.query('update themes set offers_per_response = null');
    await t.deps.catalog.refresh();
  });
});

describe('keys', () => {
  test('are read from the query, bearer header and body, and the first one wins', async () => {
    const body = { placement: 'checkout' };
    expect((await post(body, { query: '', headers: { authorization: 'Bearer demo-key' } })).status).toBe(200);
    expect((await post({ ...body, key: 'demo-key' }, { query: '' })).status).toBe(200);
    expect((await post({ ...body, api_key: 'demo-key' }, { query: '' })).status).toBe(200);
    expect((await post(body, { query: 'api_key=0123456789abcdef' })).status).toBe(200);
    expect((await post(body, { query: 'api_key=wrong', headers: { authorization: 'Bearer demo-key' } })).status).toBe(
      401,
    );
  });

  test('are rejected without a session if they are missing, unknown, expired, revoked or not permitted', async () => {
    const before = await sessionCount();
    expect((await post({ placement: 'checkout' }, { query: '' })).body.error.code).toBe('missing_key');
    expect((await post({ placement: 'checkout' }, { query: 'api_key=nope' })).body.error.code).toBe('unknown_key');
    await t.pool.query(
      `insert into api_keys (publisher_id, name, key_hash, permissions, expires_at, revoked_at) values
      ($1, 'old', sha256('old-key'), '{ads/offers}', now() - interval '1 s', null),
      ($1, 'revoked', sha256('revoked-key'), '{ads/offers}', null, now()),
      ($1, 'reports', sha256('reports-key'), '{reports}', null, null)`,
      [t.publisher.id],
    );
    await t.deps.catalog.refresh();
    expect((await post({ placement: 'checkout' }, { query: 'api_key=old-key' })).status).toBe(401);
    expect((await post({ placement: 'checkout' }, { query: 'api_key=revoked-key' })).status).toBe(401);
    const denied = await post({ placement: 'checkout' }, { query: 'api_key=reports-key' });
    expect([denied.status, denied.body.error.code]).toEqual([403, 'permission_denied']);
    expect(await sessionCount()).toBe(before);
  });

  test('get 429 above their rate limit', async () => {
    await t.pool.query(
      `insert into api_keys (publisher_id, name, key_hash, permissions, rate_limit_per_s)
        values ($1, 'slow', sha256('slow-key'), '{ads/offers}', 2)`,
      [t.publisher.id],
    );
    await t.deps.catalog.refresh();
    const statuses = [];
    for (let i = 0; i < 4; i++)
      statuses.push((await post({ placement: 'checkout' }, { query: 'api_key=slow-key' })).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses).toContain(429);
  });
});

describe('invalid input is rejected with its error code and creates no session', () => {
  const cases: [string, unknown, Options, number, string][] = [
    ['malformed JSON', '{"placement": ', {}, 400, 'malformed_json'],
    ['no body', '', {}, 400, 'missing_placement'],
    ['no placement', {}, {}, 400, 'missing_placement'],
    ['an empty placement', { placement: '' }, {}, 400, 'missing_placement'],
    ['a blank placement', { placement: '  ' }, {}, 400, 'missing_placement'],
    ['a null placement', { placement: null }, {}, 400, 'missing_placement'],
    ['an array body', [], {}, 400, 'missing_placement'],
    ['a string body', '"x"', {}, 400, 'missing_placement'],
    ['a placement of 200 characters', { placement: 'x'.repeat(200) }, {}, 400, 'missing_placement'],
    ['creative "yes" in the body', { placement: 'p', creative: 'yes' }, {}, 400, 'invalid_request'],
    [
      'an e-mail address as pub_user_id',
      { placement: 'p', pub_user_id: 'ann@example.com' },
      {},
      400,
      'pub_user_id_is_pii',
    ],
    [
      'a phone number as pub_user_id',
      { placement: 'p', pub_user_id: '+49 (151) 1234-567' },
      {},
      400,
      'pub_user_id_is_pii',
    ],
    ['a __proto__ key', '{"placement":"p","__proto__":{"x":1}}', {}, 400, 'malformed_json'],
    ['a constructor key', { placement: 'p', constructor: 'x' }, {}, 400, 'invalid_request'],
    ['a prototype key', { placement: 'p', prototype: 'x' }, {}, 400, 'invalid_request'],
    ['loyaltyboost 3', { placement: 'p' }, { query: 'api_key=demo-key&loyaltyboost=3' }, 400, 'invalid_request'],
    ['creative 2', { placement: 'p' }, { query: 'api_key=demo-key&creative=2' }, 400, 'invalid_request'],
    [
      'a repeated campaignId',
      { placement: 'p' },
      { query: 'api_key=demo-key&campaignId=1&campaignId=2' },
      400,
      'invalid_request',
    ],
    ['a list of campaignIds', { placement: 'p' }, { query: 'api_key=demo-key&campaignId=1,2' }, 400, 'invalid_request'],
    [
      'an unsupported content type',
      'placement=p',
      { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'unsupported_media_type',
    ],
    ['a body over 64 KiB', { placement: 'p', x: 'y'.repeat(70_000) }, {}, 413, 'body_too_large'],
    [
      'a body over 64 KiB after decompression',
      gzipSync(JSON.stringify({ placement: 'p', x: 'y'.repeat(1_000_000) })),
      { headers: { 'content-encoding': 'gzip' } },
      413,
      'body_too_large',
    ],
    [
      'an invalid gzip body',
      Buffer.from('not gzip'),
      { headers: { 'content-encoding': 'gzip' } },
      400,
      'malformed_request',
    ],
  ];
  test.each(cases)('%s', async (_name, body, options, status, code) => {
    const before = await sessionCount();
    const answer = await post(body, options);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(answer.body).toMatchObject({
      message: expect.any(String),
      request_id: expect.any(String),
      error: { message: expect.any(String) },
    });
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(await sessionCount()).toBe(before);
  });
});

describe('accepted input', () => {
  test.each([
    ['a gzip body', gzipSync(JSON.stringify({ placement: 'checkout' })), { 'content-encoding': 'gzip' }],
    ['a pub_user_id of digits only', { placement: 'checkout', pub_user_id: '491511234567' }, {}],
    ['a custom value of 512 emoji', { placement: 'checkout', note: '🎁'.repeat(512) }, {}],
    [
      'numbers, booleans, lists and objects as custom values',
      { placement: 'checkout', n: 1.5, b: true, l: [1, 2], o: { a: 1 } },
      {},
    ],
    ['unpaired surrogates', '{"placement":"checkout","note":"\\ud800","pub_user_id":"\\udfff"}', {}],
    ['deprecated field names', { placement: 'checkout', adpx_fp: 'abc', user_agent: 'x' }, {}],
    ['dev as a number', { placement: 'checkout', dev: 1 }, {}],
  ])('%s', async (_name, body, headers) => {
    const answer = await post(body, { headers });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  });

  test('an empty country or user in the query counts as absent', async () => {
    const answer = await post({ placement: 'checkout' }, { query: 'api_key=demo-key&country=&pub_user_id=' });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  });

  test('deprecated fingerprint names identify the same user as the new one', async () => {
    const sessions = [];
    for (const name of ['ad_fp', 'adpx_fp', 'fingerprint', 'pub_user_id'])
      sessions.push((await fetchOffers({ [name]: 'same-user' })).session_id);
    const { rows } = await t.pool.query('select distinct user_key from sessions where id = any($1)', [sessions]);
    expect(rows).toHaveLength(1);
    expect(rows[0].user_key).not.toBeNull();
  });

  test('custom values are stored as text', async () => {
    const { session_id } = await fetchOffers({ n: 1.5, b: true, l: [1, 2], nothing: null });
    const { rows } = await t.pool.query('select custom from sessions where id = $1', [session_id]);
    expect(rows[0].custom).toEqual({ n: '1.5', b: 'true', l: '[1,2]' });
  });
});

test('fields that are null count as absent, including on the offerwall', async () => {
  const unknown = {
    ua: null,
    ip: null,
    ad_fp: null,
    pub_user_id: null,
    dev: null,
    country: null,
    creative: null,
    themeId: null,
    key: null,
  };
  for (const path of ['/native/v4/offers.json', '/native/v4/offerwall.json']) {
    const answer = await post(
      { placement: 'checkout', ...unknown, consent: null, timeout_ms: null, shoe_size: null },
      { path },
    );
    expect(answer.status).toBe(200);
    expect(answer.body.data.count).toBeGreaterThan(0);
  }
});

describe('placements', () => {
  test('are normalised, and created on first use', async () => {
    await fetchOffers({ placement: ' Order  Review_Page ' });
    const { rows } = await t.pool.query("select auto_created from placements where name = 'order-review-page'");
    expect(rows).toEqual([{ auto_created: true }]);
  });

  test('are not created by dev requests', async () => {
    await fetchOffers({ placement: 'dev-only', dev: '1' });
    expect((await t.pool.query("select 1 from placements where name = 'dev-only'")).rows).toEqual([]);
  });

  test('are counted as other beyond 200', async () => {
    for (let first = 0; first < 230; first += 23)
      await Promise.all(Array.from({ length: 23 }, (_, i) => fetchOffers({ placement: `flood-${first + i}` })));
    const { rows } = await t.pool.query('select count(*)::int as count from placements where publisher_id = $1', [
      t.publisher.id,
    ]);
    expect(rows[0].count).toBe(200);
    const other = await t.pool.query("select count(*)::int as count from sessions where placement = 'other'");
    expect(other.rows[0].count).toBeGreaterThanOrEqual(30);
  });
});

describe('browsers', () => {
  test('may call from pages of any origin, without credentials', async () => {
    const preflight = await t.app.inject({
      method: 'OPTIONS',
      url: '/native/v4/offers.json',
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-sdk-id',
      },
    });
    expect(preflight.statusCode).toBe(204);
    expect(preflight.headers['access-control-allow-origin']).toBe('*');
    expect(preflight.headers['access-control-allow-methods']).toBe('GET, POST, PUT, OPTIONS');
    expect(preflight.headers['access-control-allow-headers']).toBe('content-type, authorization, x-sdk-id, accept');
    expect(preflight.headers['access-control-allow-credentials']).toBeUndefined();
    const refused = await post({}, { query: 'api_key=nope', headers: { origin: 'https://shop.example' } });
    expect(refused.headers['access-control-allow-origin']).toBe('*');
  });
});
