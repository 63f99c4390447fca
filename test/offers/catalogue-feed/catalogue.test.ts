import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addPublisher } from '../../perks/wallet/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers } from '../../tracking/journey.ts';

type Entry = {
  id: number;
  campaign_id: number;
  click_url: string;
  countries: { include: string[]; exclude: string[] };
};
type Page = { offers: Entry[]; count: number; next_cursor: string | null };

let t: TestApp;
let all: Entry[];
beforeAll(async () => {
  t = await createTestApp();
  all = (await catalogue()).offers;
});
afterAll(() => t.close());

const ask = (query: Record<string, string> = {}, key = t.publisher.key, headers: Record<string, string> = {}) =>
  t.app.inject({
    method: 'GET',
    url: `/native/v3/catalog.json?${new URLSearchParams({ api_key: key, ...query })}`,
    headers,
  });

async function catalogue(query: Record<string, string> = {}, key = t.publisher.key): Promise<Page> {
  const answer = await ask(query, key);
  expect(answer.statusCode).toBe(200);
  return answer.json().data;
}

test('lists all active offers by ID with the fields that do not depend on a session', async () => {
  const { rows } = await t.pool.query(
    `select o.id from offers o join campaigns c on c.id = o.campaign_id
      where o.active and c.active and o.publisher_id = $1 order by 1`,
    [t.publisher.id],
  );
  expect(rows.length).toBeGreaterThan(4);
  expect(all.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  for (const entry of all) {
    expect(Object.keys(entry)).toEqual(
      expect.arrayContaining([
        'title',
        'description',
        'image',
        'creatives',
        'tags',
        'terms_and_conditions',
        'is_loyalty',
        'campaign',
        'category',
      ]),
    );
    for (const ofSession of ['pixel', 'beacons', 'save_for_later_url', 'offerwall_url'])
      expect(entry).not.toHaveProperty(ofSession);
    expect(JSON.stringify(entry)).not.toContain('{{');
  }
});

test('has a stable click URL that leads to the landing page without a session', async () => {
  const [first] = all as [Entry];
  expect((await catalogue()).offers[0]?.click_url).toBe(first.click_url);
  const click = await call(t, first.click_url);
  expect(click.statusCode).toBe(302);
  expect((await t.pool.query("select suspicious from events where kind = 'click'")).rows).toEqual([
    { suspicious: 'qr' },
  ]);
});

describe('filters', () => {
  test('accept comma-separated lists of offers and campaigns', async () => {
    const [a, b] = all as [Entry, Entry];
    expect((await catalogue({ offer_id: `${b.id}, ${a.id},999999999999` })).offers.map(({ id }) => id)).toEqual([
      a.id,
      b.id,
    ]);
    const { offers } = await catalogue({ campaign_id: String(b.campaign_id) });
    expect(offers.map(({ id }) => id)).toEqual(
      all.filter((entry) => entry.campaign_id === b.campaign_id).map(({ id }) => id),
    );
    expect(await catalogue({ offer_id: '999999' })).toEqual({ offers: [], count: 0, next_cursor: null });
  });

  test('select offers that may be shown in any of the given countries', async () => {
    const [a, b] = all.filter(
      (entry, index) => all.findIndex(({ campaign_id }) => campaign_id === entry.campaign_id) === index,
    ) as [Entry, Entry];
    const target = (campaignId: number, countries: object) =>
      t.pool.query('update campaigns set rules = $2 where id = $1', [campaignId, { targeting: { countries } }]);
    await target(a.campaign_id, { include: ['DE', 'AT'] });
    await target(b.campaign_id, { exclude: ['DE'] });
    await t.deps.catalog.refresh();
    const shownIn = async (countries: string): Promise<[boolean, boolean]> => {
      const ids = (await catalogue({ countries })).offers.map(({ campaign_id }) => campaign_id);
      return [ids.includes(a.campaign_id), ids.includes(b.campaign_id)];
    };
    expect(await shownIn('de')).toEqual([true, false]);
    expect(await shownIn('FR')).toEqual([false, true]);
    expect(await shownIn('FR,AT')).toEqual([true, true]);
    expect((await catalogue()).offers.find(({ campaign_id }) => campaign_id === a.campaign_id)?.countries).toEqual({
      include: ['DE', 'AT'],
      exclude: [],
    });
    for (const id of [a.campaign_id, b.campaign_id])
      await t.pool.query("update campaigns set rules = '{}' where id = $1", [id]);
    await t.deps.catalog.refresh();
  });

  test('are rejected if they are invalid', async () => {
    for (const query of [
      { offer_id: 'x' },
      { campaign_id: '1;2' },
      { countries: 'Germany' },
      { limit: '0' },
      { limit: '1001' },
      { limit: '-1' },
      { cursor: 'x' },
    ])
      expect([query, (await ask(query)).statusCode]).toEqual([query, 400]);
  });
});

test('the os parameter selects offers that may be shown on any of the given operating systems', async () => {
  const [first, second] = all as [Entry, Entry];
  const target = async ({ campaign_id: id }: Entry, rules: object) => {
    await t.pool.query('update campaigns set rules = $2 where id = $1', [id, rules]);
    await t.deps.catalog.refresh();
  };
  await target(first, { targeting: { os: { include: ['ios'] } } });
  await target(second, { targeting: { os: { include: ['android'] } } });
  const matchesFor = async (os: string): Promise<boolean[]> => {
    const ids = (await catalogue({ os, limit: '100' })).offers.map(({ id }) => id);
    return [ids.includes(first.id), ids.includes(second.id), ids.length >= all.length - 2];
  };
  expect(await matchesFor('ios')).toEqual([true, false, true]);
  expect(await matchesFor('Android')).toEqual([false, true, true]);
  expect(await matchesFor('ios,android')).toEqual([true, true, true]);
  expect(await matchesFor('windows')).toEqual([false, false, true]);
  for (const os of ['i;os', 'x'.repeat(41)]) expect([os, (await ask({ os })).statusCode]).toEqual([os, 400]);
  for (const entry of [first, second]) await target(entry, {});
});

test('returns pages without gaps or duplicates', async () => {
  const ids: number[] = [];
  let cursor: string | null = '0';
  while (cursor !== null) {
    const page: Page = await catalogue({ limit: '2', cursor });
    expect(page.count).toBe(page.offers.length);
    ids.push(...page.offers.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  expect(ids).toEqual(all.map(({ id }) => id));
});

test('responds with 304 to a cached request until the content changes', async () => {
  const { etag } = (await ask()).headers;
  const again = await ask({}, t.publisher.key, { 'if-none-match': `"x", W/${etag}` });
  expect([again.statusCode, again.body]).toEqual([304, '']);
  await t.pool.query("update offers set title = 'Changed' where id = $1", [all[0]?.id]);
  await t.deps.catalog.refresh();
  expect((await ask({}, t.publisher.key, { 'if-none-match': String(etag) })).statusCode).toBe(200);
});

test('leaves out offers whose campaign has ended or has not started', async () => {
  const [first] = all as [Entry];
  const isListed = async (schedule: object) => {
    await t.pool.query('update campaigns set rules = $2 where id = $1', [first.campaign_id, { schedule }]);
    await t.deps.catalog.refresh();
    return (await catalogue({ campaign_id: String(first.campaign_id) })).count;
  };
  const at = (seconds: number) => new Date(t.deps.now() + seconds * 1000).toISOString();
  expect(await isListed({ start_at: at(-60), end_at: at(60) })).toBe(1);
  expect(await isListed({ end_at: at(-60) })).toBe(0);
  expect(await isListed({ start_at: at(60) })).toBe(0);
  expect(await isListed({})).toBe(1);
});

test('shows a publisher only its own offers and those provisioned to it', async () => {
  const other = await addPublisher(t);
  const own = await catalogue({}, other.publisher.key);
  expect(own.offers.map(({ id }) => id)).not.toContain(all[0]?.id);
  await t.pool.query('insert into campaign_publishers (campaign_id, publisher_id) values ($1, $2)', [
    all[0]?.campaign_id,
    other.publisher.id,
  ]);
  await t.pool.query('update campaign_publishers set active = false where campaign_id = $1 and publisher_id = $2', [
    own.offers[0]?.campaign_id,
    other.publisher.id,
  ]);
  await t.deps.catalog.refresh();
  const ids = (await catalogue({}, other.publisher.key)).offers.map(({ id }) => id);
  expect(ids).toContain(all[0]?.id);
  expect(ids).not.toContain(own.offers[0]?.id);
  expect((await ask({}, 'nobody')).statusCode).toBe(401);
  expect((await fetchOffers(t)).offers.length).toBeGreaterThan(0);
});
