import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import {
  browser,
  call,
  fetchOffers,
  mintLike,
  type ShownOffer,
  storedEvents,
  tokenOf,
} from '../../tracking/journey.ts';

let testApp: TestApp;
beforeAll(async () => {
  testApp = await createTestApp({ scripts: true });
});
afterAll(() => testApp?.close());
afterEach(async () => {
  await testApp.pool.query('update publishers set offerwall_enabled = true');
  await testApp.pool.query('update offers set offerwall_enabled = true, active = true');
  await testApp.deps.catalog.refresh();
});

type WallOffer = ShownOffer & { offerwall_url: string; save_for_later_url: string | null; title: string };
type Page = {
  offers: WallOffer[];
  count: number;
  total: number;
  next_cursor: string | null;
  first_cursor: string;
  categories: string[];
  session_id: string;
};

const post = (url: string, payload: object = {}, headers: Record<string, string> = {}) =>
  testApp.app.inject({ method: 'POST', url, payload, headers: { 'user-agent': browser, ...headers } });

async function browse(query: string, body: object = {}): Promise<Page> {
  const response = await post(`/native/v4/offerwall.json?api_key=${testApp.publisher.key}${query}`, {
    placement: 'wall',
    ...body,
  });
  expect(response.statusCode, response.body.slice(0, 300)).toBe(200);
  return response.json().data;
}

async function browseByLink(link: string, query = ''): Promise<Page> {
  const response = await post(`/offerwall/offers.json?t=${tokenOf(link)}${query}`);
  expect(response.statusCode, response.body.slice(0, 300)).toBe(200);
  return response.json().data;
}

const idsOf = (offers: readonly { id: number }[]): number[] => offers.map(({ id }) => id);
const sorted = (ids: number[]): number[] => [...ids].sort((a, b) => a - b);

/** Reads all pages by following the cursors. */
async function readAll(query: string, body: object = {}): Promise<WallOffer[]> {
  let page = await browse(query, body);
  const offers = [...page.offers];
  while (page.next_cursor !== null) {
    page = await browse(`${query}&cursor=${page.next_cursor}`);
    offers.push(...page.offers);
  }
  return offers;
}

describe('the offerwall', () => {
  test('shows every offer once for any page size', async () => {
    const inOne = await browse('&limit=100', { ad_fp: 'reader1' });
    expect(inOne).toMatchObject({ count: inOne.offers.length, total: inOne.offers.length, next_cursor: null });
    expect(inOne.offers.length).toBeGreaterThan(3);
    for (const limit of [1, 2, 3, 7]) {
      const offers = await readAll(`&limit=${limit}`, { ad_fp: 'reader1' });
      expect(sorted(idsOf(offers))).toEqual(sorted(idsOf(inOne.offers)));
    }
  });

  test('creates one session, however many pages are read', async () => {
    const first = await browse('&limit=2');
    const second = await browse(`&limit=2&cursor=${first.next_cursor}`);
    expect(second.session_id).toBe(first.session_id);
    const { rows } = await testApp.pool.query('select offer_ids, usp from sessions where id = $1', [first.session_id]);
    expect(rows[0].usp).toBe(false);
    expect(rows[0].offer_ids.slice(0, 4)).toEqual(idsOf([...first.offers, ...second.offers]));
  });

  test('disables User Selected Perks, even if units have them enabled for the same user', async () => {
    const response = await post(`/native/v4/offerwall.json?api_key=${testApp.publisher.key}`, {
      placement: 'wall',
      pub_user_id: 'ticker',
    });
    const { session_id, settings } = response.json().data;
    expect(settings.enable_usp).toBe(false);
    const url = `/sdk/v4/usp/session/${session_id}.json?api_key=${testApp.publisher.key}&pub_user_id=ticker`;
    const session = await testApp.app.inject(url);
    expect([session.statusCode, session.json().error.code]).toEqual([403, 'usp_not_enabled']);
  });

  test('responds in the same way under its deprecated name, and accepts limit and cursor in the body', async () => {
    const response = await post(`/native/v4/perkswall.json?api_key=${testApp.publisher.sdkId}`, {
      placement: 'wall',
      limit: 2,
    });
    const { next_cursor, offers } = response.json().data;
    expect(offers).toHaveLength(2);
    const next = await post(`/native/v4/perkswall.json?api_key=${testApp.publisher.sdkId}`, {
      cursor: next_cursor,
      limit: '3',
    });
    expect(next.json().data.offers).toHaveLength(3);
    const { rows } = await testApp.pool.query('select custom from sessions where id = $1', [
      response.json().data.session_id,
    ]);
    expect(rows[0].custom).toBeNull();
  });

  test('leaves out offers that are excluded from the offerwall or paused while it is read', async () => {
    const hidden = (await browse('&limit=100')).offers[3]?.id;
    await testApp.pool.query('update offers set offerwall_enabled = false where id = $1', [hidden]);
    await testApp.deps.catalog.refresh();
    expect(idsOf((await browse('&limit=100')).offers)).not.toContain(hidden);
    const first = await browse('&limit=1');
    const paused = (await browse(`&limit=1&cursor=${first.next_cursor}`)).offers[0]?.id;
    await testApp.pool.query('update offers set active = false where id = $1', [paused]);
    await testApp.deps.catalog.refresh();
    const rest = await browse(`&limit=100&cursor=${first.next_cursor}`);
    expect(idsOf(rest.offers)).not.toContain(paused);
    expect(rest.total).toBe(rest.offers.length + 1);
  });

  test('finds offers by words and by category, ignoring case and accents', async () => {
    const all = await browse('&limit=100');
    const [category = ''] = all.categories;
    const ofCategory = await browse(`&limit=100&category=${encodeURIComponent(category)}&cursor=${all.first_cursor}`);
    expect(ofCategory.total).toBe(ofCategory.offers.length);
    expect(ofCategory.total).toBeGreaterThan(0);
    expect(ofCategory.total).toBeLessThan(all.total);
    const unfiltered = await browse(`&limit=100&category=&q=&cursor=${all.first_cursor}`);
    expect(unfiltered.total).toBe(all.total);
    const word = (all.offers[0] as WallOffer).title.split(' ')[0] as string;
    const matchingPage = await browse(`&q=${encodeURIComponent(word.toUpperCase())}&cursor=${all.first_cursor}`);
    expect(idsOf(matchingPage.offers)).toContain(all.offers[0]?.id);
    expect(matchingPage.session_id).toBe(all.session_id);
    expect((await browse('&q=nothing-is-called-this')).offers).toEqual([]);
  });

  test('counts beacons and clicks with the position of the offer', async () => {
    const page = await browse('&limit=5', { ad_fp: 'counter' });
    const third = page.offers[2] as WallOffer;
    expect((await call(testApp, third.pixel)).statusCode).toBe(200);
    expect((await call(testApp, third.click_url)).statusCode).toBe(302);
    const { rows } = await testApp.pool.query(
      'select kind, offer_id, position from events where session_id = $1 order by at, kind desc',
      [page.session_id],
    );
    expect(rows).toEqual([
      { kind: 'impression', offer_id: third.id, position: 3 },
      { kind: 'click', offer_id: third.id, position: 3 },
    ]);
  });

  test('does not show a campaign that the user opted out of', async () => {
    const page = await browse('&limit=1', { ad_fp: 'refuser' });
    const refused = page.offers[0] as WallOffer;
    await call(testApp, refused.beacons.no_thanks_click);
    expect(
      (await browse('&limit=100', { ad_fp: 'refuser' })).offers.map(({ campaign_id }) => campaign_id),
    ).not.toContain(refused.campaign_id);
  });

  test('applies an impression cap when a user opens many offerwalls concurrently', async () => {
    const capped = (await browse('&limit=1')).offers[0]?.campaign_id;
    const cap = { scope: 'campaign', event: 'impression', limit: 1, window_minutes: null };
    await testApp.pool.query('update campaigns set rules = $2 where id = $1', [capped, { frequency_caps: [cap] }]);
    await testApp.deps.catalog.refresh();
    const walls = await Promise.all(Array.from({ length: 16 }, () => browse('&limit=100', { ad_fp: 'many-walls' })));
    expect(walls.filter(({ offers }) => offers.some(({ campaign_id }) => campaign_id === capped))).toHaveLength(1);
    await testApp.pool.query("update campaigns set rules = '{}' where id = $1", [capped]);
    await testApp.deps.catalog.refresh();
  });

  test('is rejected for a publisher without an offerwall', async () => {
    await testApp.pool.query('update publishers set offerwall_enabled = false');
    await testApp.deps.catalog.refresh();
    const response = await post(`/native/v4/offerwall.json?api_key=${testApp.publisher.key}`, { placement: 'wall' });
    expect([response.statusCode, response.json().error.code]).toEqual([403, 'offerwall_not_enabled']);
  });

  test.each([
    ['', {}, 'missing_placement'],
    ['&q=%00', { placement: 'x' }, 'invalid_request'],
    ['&cursor=nonsense', { placement: 'x' }, 'invalid_cursor'],
    ['', { placement: 'x', cursor: 'nonsense' }, 'invalid_cursor'],
  ])('rejects %s %o', async (query, body, code) => {
    const response = await post(`/native/v4/offerwall.json?api_key=${testApp.publisher.key}${query}`, body);
    expect([response.statusCode, response.json().error.code]).toEqual([400, code]);
  });

  test('accepts a cursor only for its publisher, unaltered and within a day', async () => {
    const cursor = (await browse('&limit=1')).next_cursor as string;
    await testApp.pool.query(
      "insert into publishers (name, sdk_id, offerwall_enabled) values ('Other', '00000000000000ff', true)",
    );
    await testApp.deps.catalog.refresh();
    const changed = `${cursor.slice(0, 20)}${cursor[20] === 'A' ? 'B' : 'A'}${cursor.slice(21)}`;
    for (const [key, cursorText] of [
      ['00000000000000ff', cursor],
      [testApp.publisher.key, changed],
    ]) {
      const response = await post(`/native/v4/offerwall.json?api_key=${key}&cursor=${cursorText}`, { placement: 'x' });
      expect([response.statusCode, response.json().error.code]).toEqual([400, 'invalid_cursor']);
    }
    const later = await createTestApp({ databaseUrl: testApp.databaseUrl, now: () => Date.now() + 86_400_000 + 1000 });
    try {
      const url = `/native/v4/offerwall.json?api_key=${testApp.publisher.key}&cursor=${cursor}`;
      const late = await later.app.inject({ method: 'POST', url, payload: { placement: 'x' } });
      expect(late.json().error.code).toBe('invalid_cursor');
    } finally {
      await later.close();
    }
  });
});

describe('the link of an offer', () => {
  const linkOf = async (body: object = {}): Promise<WallOffer & { sessionId: string }> => {
    const { offers, sessionId } = await fetchOffers(testApp, { ad_fp: 'linker', ...body });
    return { ...(offers[1] as WallOffer), sessionId };
  };

  test('opens an offerwall for the same user with that offer first', async () => {
    const linkedOffer = await linkOf({ pub_user_id: 'u-77', campaign_source: 'mail' });
    const page = await browseByLink(linkedOffer.offerwall_url, '&limit=100');
    expect(page.offers[0]?.id).toBe(linkedOffer.id);
    expect(new Set(idsOf(page.offers)).size).toBe(page.offers.length);
    expect(page.session_id).not.toBe(linkedOffer.sessionId);
    expect(page.offers[0]?.save_for_later_url).not.toBeNull();
    const { rows } = await testApp.pool.query(
      'select user_key, pub_user_id, placement, custom from sessions where id = any($1)',
      [[page.session_id, linkedOffer.sessionId]],
    );
    expect(rows[0]).toEqual(rows[1]);
  });

  test('shows its offer first even after an opt-out, and counts it for the session of the link', async () => {
    const linkedOffer = await linkOf({ ad_fp: 'opted-out' });
    await call(testApp, linkedOffer.pixel);
    await call(testApp, linkedOffer.beacons.no_thanks_click);
    const page = await browseByLink(linkedOffer.offerwall_url, '&limit=3');
    expect(page.offers[0]).toMatchObject({
      id: linkedOffer.id,
      pixel: linkedOffer.pixel,
      click_url: linkedOffer.click_url,
    });
    expect(idsOf(page.offers.slice(1))).not.toContain(linkedOffer.id);
    await call(testApp, (page.offers[0] as WallOffer).pixel);
    const begun = await browseByLink(linkedOffer.offerwall_url, `&limit=3&cursor=${page.first_cursor}`);
    expect(begun.offers).toEqual(page.offers);
    const searchQuery = `&limit=3&cursor=${page.first_cursor}&q=${encodeURIComponent(linkedOffer.title)}`;
    expect((await browseByLink(linkedOffer.offerwall_url, searchQuery)).offers[0]?.id).toBe(linkedOffer.id);
    for (let later: Page = page; later.next_cursor !== null; ) {
      later = await browseByLink(linkedOffer.offerwall_url, `&limit=3&cursor=${later.next_cursor}`);
      expect(later.total).toBe(page.total);
      expect(idsOf(later.offers)).not.toContain(linkedOffer.id);
    }
    const sessions = [linkedOffer.sessionId, page.session_id];
    const impressions = (await storedEvents(testApp)).filter(
      ({ session_id, kind }) => kind === 'impression' && sessions.includes(session_id),
    );
    expect(impressions).toHaveLength(1);
  });

  test('records no event in a dev session', async () => {
    const linkedOffer = await linkOf({ dev: '1' });
    const page = await browseByLink(linkedOffer.offerwall_url);
    await call(testApp, (page.offers[0] as WallOffer).pixel);
    expect((await storedEvents(testApp)).filter(({ session_id }) => session_id === page.session_id)).toEqual([]);
    const { rows } = await testApp.pool.query('select dev from sessions where id = $1', [page.session_id]);
    expect(rows).toEqual([{ dev: true }]);
  });

  test('opens an offerwall without a user if the browser sends Sec-GPC', async () => {
    const linkedOffer = await linkOf({ pub_user_id: 'u-78' });
    const response = await post(
      `/offerwall/offers.json?t=${tokenOf(linkedOffer.offerwall_url)}`,
      {},
      { 'sec-gpc': '1' },
    );
    const { session_id, offers } = response.json().data;
    expect(offers[0].save_for_later_url).toBeNull();
    const { rows } = await testApp.pool.query('select user_key, pub_user_id from sessions where id = $1', [session_id]);
    expect(rows).toEqual([{ user_key: null, pub_user_id: null }]);
  });

  test('is rejected if it is altered, belongs to another publisher or has no session', async () => {
    const linkedOffer = await linkOf();
    const token = tokenOf(linkedOffer.offerwall_url);
    const bad = [
      `${token.slice(0, 40)}${token[40] === 'A' ? 'B' : 'A'}${token.slice(41)}`,
      mintLike(testApp, linkedOffer, { publisherId: 999_999 }),
      mintLike(testApp, linkedOffer, { sessionId: null }),
      mintLike(testApp, linkedOffer, { sessionId: '01900000-0000-7000-8000-000000000000' }),
      '',
    ];
    for (const badToken of bad) {
      const response = await post(`/offerwall/offers.json?t=${badToken}`);
      expect([response.statusCode, response.json().error.code], badToken).toEqual([400, 'invalid_token']);
    }
  });
});

describe('the page', () => {
  const open = (query: string, accept = 'text/html') =>
    testApp.app.inject({ url: `/offerwall?${query}`, headers: { accept, 'user-agent': browser } });

  test("cannot be framed with a signed link, and otherwise only by the publisher's listed hosts", async () => {
    const { offers } = await fetchOffers(testApp);
    const signed = await open(new URL((offers[0] as WallOffer).offerwall_url).search.slice(1));
    expect(signed.statusCode).toBe(200);
    expect(signed.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    await testApp.pool.query('update publishers set frame_hosts = $2 where id = $1', [
      testApp.publisher.id,
      [
        'https://shop.example',
        'https://*.app.example:8443',
        'https://shop.example:99999',
        "https://evil.example; script-src 'unsafe-inline'",
      ],
    ]);
    await testApp.deps.catalog.refresh();
    const { headers } = await open(`sdk_id=${testApp.publisher.sdkId}`);
    expect(headers['content-security-policy']).toMatch(
      /frame-ancestors 'self' https:\/\/shop\.example https:\/\/\*\.app\.example:8443$/,
    );
    expect(headers['content-security-policy']).not.toContain('unsafe');
  });

  test('makes no decision and creates no session by itself', async () => {
    const { rows: before } = await testApp.pool.query('select count(*) from sessions');
    await open(`sdk_id=${testApp.publisher.sdkId}`);
    expect((await testApp.pool.query('select count(*) from sessions')).rows).toEqual(before);
  });

  test.each(['', 't=nonsense', 'sdk_id=ffffffffffffffff', 't=a&t=b'])(
    'reports a link that does not work: %s',
    async (query) => {
      const page = await open(query);
      expect(page.statusCode).toBe(400);
      expect(page.headers['content-type']).toContain('text/html');
      expect(page.body).toContain('does not work');
      expect((await open(query, 'application/json')).json().error.code).toBe('invalid_token');
    },
  );

  test('loads a script with immutable caching', async () => {
    const path = /src="(\/sdk\/offerwall\.[0-9a-f]{12}\.js)"/.exec(
      (await open(`sdk_id=${testApp.publisher.sdkId}`)).body,
    )?.[1] as string;
    const script = await testApp.app.inject(path);
    expect(script.statusCode).toBe(200);
    expect(script.headers['cache-control']).toContain('immutable');
    expect((await testApp.app.inject('/sdk/offerwall.000000000000.js')).headers['cache-control']).toBe('no-store');
  });
});
