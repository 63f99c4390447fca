import { FormatRegistry } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchPlacementsAnswer, offerSchemas } from '../../../src/offers/answer-schemas.ts';
import { requestOver } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  FormatRegistry.Set('uri', (value) => URL.canParse(value));
  FormatRegistry.Set('uuid', (value) => /^[0-9a-f-]{36}$/.test(value));
  t = await createTestApp();
  await t.pool.query("insert into placements (publisher_id, name) select $1, unnest('{one,two,three}'::text[])", [
    t.publisher.id,
  ]);
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

type ShownOffer = { id: number; campaign_id: number; beacons: { no_thanks_click: string } };
type Placed = {
  name: string;
  session_id: string;
  count: number;
  offers: ShownOffer[];
  settings: { primary_color?: string };
};

async function post(body: object, query = '', path = '/native/v4/offers.json') {
  const answer = await t.app.inject({ method: 'POST', url: `${path}?api_key=demo-key${query}`, payload: body });
  return { status: answer.statusCode, body: answer.json() };
}

async function fetchAt(placements: unknown[], body: object = {}, query = ''): Promise<Placed[]> {
  const answer = await post({ placements, ...body }, query);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.data.placements;
}

const placementsNamed = (...names: string[]) => names.map((name) => ({ name }));
const ten = Array.from({ length: 10 }, (_, index) => ({ name: `place ${index}`, count: 10 }));

const campaignsOf = (placed: readonly Placed[]): number[] =>
  placed.flatMap(({ offers }) => offers.map((offer) => offer.campaign_id));

const numberOf = async (table: string): Promise<number> =>
  (await t.pool.query<{ n: number }>(`select count(*)::int as n from ${table}`)).rows[0]?.n as number;

/** Sets the rules of all campaigns while `work` runs. */
async function withRules<Result>(rules: object, work: () => Promise<Result>): Promise<Result> {
  await t.pool.query('update campaigns set rules = $1', [rules]);
  await t.deps.catalog.refresh();
  try {
    return await work();
  } finally {
    await t.pool.query("update campaigns set rules = '{}'");
    await t.deps.catalog.refresh();
  }
}

describe('a call with several placements', () => {
  test('gets a session for each, in order and with the requested names', async () => {
    const { status, body } = await post({ placements: placementsNamed('Two', 'one', 'three_'), pub_user_id: 'u-1' });
    expect(status).toBe(200);
    const errors = [...Value.Errors(fetchPlacementsAnswer, offerSchemas, body)];
    expect(errors.map(({ path, message }) => `${path} ${message}`)).toEqual([]);
    const placed = body.data.placements as Placed[];
    expect(placed.map(({ name }) => name)).toEqual(['Two', 'one', 'three_']);
    const ids = placed.map(({ session_id }) => session_id);
    const { rows } = await t.pool.query<{ id: string }>(
      'select id, placement, offer_ids from sessions where id = any($1)',
      [ids],
    );
    expect(ids.map((id) => rows.find((row) => row.id === id))).toEqual(
      placed.map(({ session_id, offers }, index) => ({
        id: session_id,
        placement: ['two', 'one', 'three-'][index],
        offer_ids: offers.map((offer) => offer.id),
      })),
    );
  });

  test('repeats no campaign or exclusion group, and fills the first placements first', async () => {
    const placed = await fetchAt(ten);
    const campaigns = campaignsOf(placed);
    expect(new Set(campaigns).size).toBe(campaigns.length);
    expect(campaigns.length).toBeGreaterThan(10);
    expect(placed[0]?.count).toBeGreaterThan(0);
    await withRules({ exclusion_groups: ['all'] }, async () => {
      expect((await fetchAt(placementsNamed('one', 'two', 'three'))).map(({ count }) => count)).toEqual([1, 0, 0]);
    });
  });

  test('shows as many offers per placement as `count` and the placement settings allow', async () => {
    await t.pool.query("update placements set offers_per_response = 2 where name = 'two'");
    await t.pool.query("update placements set unit_enabled = false where name = 'three'");
    await t.deps.catalog.refresh();
    const placed = await fetchAt([
      { name: 'three' },
      { name: 'two' },
      { name: 'one', count: 1 },
      { name: 'four', count: 4 },
    ]);
    expect(placed.map(({ count }) => count)).toEqual([0, 2, 1, 4]);
    await t.pool.query('update placements set offers_per_response = null, unit_enabled = null');
    await t.deps.catalog.refresh();
  });

  test('accepts a theme for each placement, but ignores those of other publishers', async () => {
    const theme = async (publisherId: number, key: string): Promise<number> =>
      (
        await t.pool.query<{ id: number }>(
          `insert into themes (publisher_id, name, key, unit, unit_enabled)
          values ($1, $2, $2, 'sou', false) returning id`,
          [publisherId, key],
        )
      ).rows[0]?.id as number;
    const { rows } = await t.pool.query<{ id: number }>(
      "insert into publishers (name, sdk_id) values ('Foreign', 'aaaabbbbccccdddd') returning id",
    );
    const own = await theme(t.publisher.id, 'dark');
    const foreign = await theme(rows[0]?.id as number, 'foreign');
    await t.deps.catalog.refresh();
    const placements = [
      { name: 'one', theme_id: own },
      { name: 'two', theme_id: 'dark' },
      { name: 'three', theme_id: foreign },
    ];
    expect((await fetchAt(placements)).map(({ count }) => count)).toEqual([0, 0, 3]);
    const inherited = [{ name: 'one' }, { name: 'two', theme_id: foreign }, { name: 'three', theme_id: null }];
    expect((await fetchAt(inherited, { theme_id: 'dark' })).map(({ count }) => count)).toEqual([0, 0, 0]);
  });

  test('can be explained, and each session can be decided again identically', async () => {
    await withRules({ exclusion_groups: ['all'], targeting: { countries: { include: ['US'] } } }, async () => {
      const placed = await fetchAt([{ name: 'one' }, { name: 'two', count: 2 }], { country: 'US', ad_fp: 'explained' });
      expect(placed.map(({ count }) => count)).toEqual([1, 0]);
      for (const { session_id: id } of placed) {
        const read = async () =>
          (await t.app.inject({ url: `/manage/v1/sessions/${id}/decision?api_key=demo-key` })).json();
        await expect.poll(async () => (await read()).data?.identical).toBe(true);
      }
    });
    const page = await fetchAt(placementsNamed('one', 'two'), { ad_fp: 'explained' });
    expect(new Set(campaignsOf(page)).size).toBe(6);
  });

  test('shows a declined campaign in no placement', async () => {
    const first = await fetchAt(placementsNamed('one', 'two'), { ad_fp: 'declines' });
    const declined = first.map(({ offers }) => offers[0] as ShownOffer);
    for (const { beacons } of declined)
      expect((await requestOver(t.app, { url: beacons.no_thanks_click })).statusCode).toBe(200);
    const second = await fetchAt(placementsNamed('one', 'two'), { ad_fp: 'declines' });
    expect(second.map(({ count }) => count)).toEqual([3, 3]);
    const campaigns = campaignsOf(second);
    expect(new Set(campaigns).size).toBe(6);
    for (const { campaign_id } of declined) expect(campaigns).not.toContain(campaign_id);
  });

  test.each(['campaign', 'advertiser'] as const)(
    "applies a user's frequency cap by %s across the whole call and across parallel calls",
    async (scope) => {
      const frequency_caps = [{ scope, event: 'impression', limit: 2, window_minutes: null }];
      await withRules({ frequency_caps }, async () => {
        const calls = await Promise.all(Array.from({ length: 5 }, () => fetchAt(ten, { ad_fp: `${scope} user` })));
        const { rows } = await t.pool.query<{ key: number; n: number }>(
          `select ${scope === 'campaign' ? 'c.id' : 'c.advertiser_id'} as key, count(*)::int as n
          from sessions s, unnest(s.campaign_ids) shown join campaigns c on c.id = shown
          where s.id = any($1) group by 1`,
          [calls.flat().map(({ session_id }) => session_id)],
        );
        expect(rows.length).toBeGreaterThan(0);
        expect(Math.max(...rows.map(({ n }) => n))).toBe(2);
        for (const placed of calls) {
          const campaigns = campaignsOf(placed);
          expect(new Set(campaigns).size).toBe(campaigns.length);
        }
      });
    },
  );

  test('applies total caps across concurrent calls', async () => {
    const total_caps = [{ metric: 'impressions', per: 'lifetime', limit: 3 }];
    await withRules({ total_caps }, async () => {
      const calls = await Promise.all(Array.from({ length: 8 }, () => fetchAt(ten)));
      const timesShown = new Map<number, number>();
      for (const id of calls.flatMap(campaignsOf)) timesShown.set(id, (timesShown.get(id) ?? 0) + 1);
      expect(timesShown.size).toBeGreaterThan(0);
      expect(Math.max(...timesShown.values())).toBeLessThanOrEqual(3);
    });
  });

  test('gets an empty response for all placements at its deadline', async () => {
    const client = await t.pool.connect();
    await client.query('begin; lock table sessions in access exclusive mode');
    const placed = await fetchAt(placementsNamed('one', 'two'), { timeout_ms: 30 }).finally(async () => {
      await client.query('rollback');
      client.release();
    });
    expect(placed.map(({ name, count, offers }) => ({ name, count, offers }))).toEqual([
      { name: 'one', count: 0, offers: [] },
      { name: 'two', count: 0, offers: [] },
    ]);
    expect(new Set(placed.map(({ session_id }) => session_id)).size).toBe(2);
  });

  test('applies dev, loyaltyboost, creative and consent as with one placement', async () => {
    const before = await numberOf('placements');
    const dev = await fetchAt(placementsNamed('never seen', 'nor this'), { dev: 1 });
    expect(await numberOf('placements')).toBe(before);
    const ids = dev.map(({ session_id }) => session_id);
    const { rows } = await t.pool.query('select dev from sessions where id = any($1)', [ids]);
    expect(rows).toEqual([{ dev: true }, { dev: true }]);
    const loyal = await fetchAt(placementsNamed('one', 'two'), {}, '&loyaltyboost=2&creative=1');
    const offers = loyal.flatMap((placed) => placed.offers as unknown as { is_loyalty: boolean; image: string }[]);
    expect(offers.length).toBeGreaterThan(0);
    for (const offer of offers)
      expect(offer).toMatchObject({ is_loyalty: true, image: expect.stringContaining('http') });
    const unnamed = await fetchAt(placementsNamed('one', 'two'), { pub_user_id: 'u-2', consent: false });
    const storedSessions = await t.pool.query('select user_key, pub_user_id from sessions where id = any($1)', [
      unnamed.map(({ session_id }) => session_id),
    ]);
    expect(storedSessions.rows).toEqual(Array(2).fill({ user_key: null, pub_user_id: null }));
  });

  test('may have the maximum body size', async () => {
    const custom = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`key_${index}`, 'ä'.repeat(512)]));
    const placed = await fetchAt(ten, custom);
    expect(placed).toHaveLength(10);
    expect((await post({ placements: ten, ...custom, more: 'x'.repeat(64 * 1024) })).status).toBe(413);
  });
});

test.each([
  ['an empty list', [], null, '/placements'],
  ['a string', 'one', null, '/placements'],
  ['an object', { name: 'one' }, null, '/placements'],
  ['only entries without a name', [{}, null, 7, 'one'], null, '/placements/0/name'],
  ['more than ten entries', placementsNamed(...'abcdefghijk'), [...'abcdefghij'], '/placements'],
  ['an entry without a name', [{ name: 'one' }, {}], ['one'], '/placements/1/name'],
  ['a blank name', [{ name: ' ' }, { name: 'one' }], ['one'], '/placements/0/name'],
  ['a NUL character', [{ name: 'a\0b' }, { name: 'one' }], ['one'], '/placements/0/name'],
  ['a long name', [{ name: 'x'.repeat(129) }, { name: 'one' }], ['one'], '/placements/0/name'],
  [
    'a name that is too long in lower case',
    [{ name: 'İ'.repeat(128) }, { name: 'one' }],
    ['one'],
    '/placements/0/name',
  ],
  [
    'a duplicate name in another spelling',
    placementsNamed('check out', 'Check_Out'),
    ['check out'],
    '/placements/1/name',
  ],
  ['a numeric name', [{ name: 5 }], ['5'], null],
  ['a count of 0', [{ name: 'one', count: 0 }], ['one'], '/placements/0/count'],
  ['a count of 11', [{ name: 'one', count: 11 }], ['one'], '/placements/0/count'],
  ['a count as a string', [{ name: 'one', count: '3' }], ['one'], null],
  ['an empty count', [{ name: 'one', count: '' }], ['one'], '/placements/0/count'],
  ['an unknown field', [{ name: 'one', themeid: 3 }], ['one'], '/placements/0'],
])('%s in `placements` does not fail the fetch, and the field is noted', async (_what, placements, names, path) => {
  await t.pool.query('truncate request_notices');
  const { status, body } = await post({ placement: 'checkout', placements });
  expect(status, JSON.stringify(body)).toBe(200);
  const answered = body.data.placements?.map(({ name }: { name: string }) => name) ?? null;
  expect(answered).toEqual(names);
  await t.deps.requestLog.write();
  const { rows } = await t.pool.query<{ path: string }>('select path from request_notices');
  if (path === null) expect(rows).toEqual([]);
  else expect(rows.map((row) => row.path)).toContain(path);
});

test('`placements` null counts as absent', async () => {
  const { body } = await post({ placement: 'checkout', placements: null });
  expect(body.data).toMatchObject({ count: 3, session_id: expect.any(String) });
  expect(body.data).not.toHaveProperty('placements');
  expect((await post({ placements: null })).body.error.code).toBe('missing_placement');
});
