import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

async function post(body: object, { path = 'any', key = 'demo-key', query = '' } = {}) {
  const url = `/native/v4/${path}.json?api_key=${key}${query}`;
  const answer = await t.app.inject({ method: 'POST', url, payload: body });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
}

const countAt = async (body: object) => (await post(body)).body.data;

const written = ['sessions', 'user_history', 'placements', 'campaign_usage', 'decision_states'];
const rowsWritten = async (): Promise<string[]> =>
  Promise.all(
    written.map(async (table) => {
      const { rows } = await t.pool.query(
        `select md5(coalesce(string_agg(r::text, ',' order by r::text), '')) as sum from ${table} r`,
      );
      return `${table} ${rows[0].sum}`;
    }),
  );

async function setRules(rules: object): Promise<void> {
  await t.pool.query('update campaigns set rules = $1', [rules]);
  await t.deps.catalog.refresh();
}

describe('a request for the number of offers', () => {
  test('returns the number that a fetch would show, and writes nothing', async () => {
    const before = await rowsWritten();
    expect((await post({ placement: 'never seen', pub_user_id: 'u' })).body).toEqual({ data: { count: 3 } });
    expect(await countAt({ placement: 'never seen' })).toEqual({ count: 3 });
    expect(await countAt({ placements: [{ name: 'New One', count: 5 }, { name: 'two' }] })).toEqual({
      placements: [
        { name: 'New One', count: 5 },
        { name: 'two', count: 3 },
      ],
    });
    expect(await rowsWritten()).toEqual(before);
  });

  test("applies the user's frequency caps across all placements of the call", async () => {
    await setRules({ frequency_caps: [{ scope: 'advertiser', event: 'impression', limit: 1, window_minutes: null }] });
    const placements = Array.from({ length: 10 }, (_, index) => ({ name: `p${index}`, count: 10 }));
    const sum = (data: { placements: { count: number }[] }) =>
      data.placements.reduce((total, { count }) => total + count, 0);
    const advertisers = new Set(
      [...t.deps.catalog.current().offers.values()].map(({ campaign }) => campaign.advertiserId),
    );
    const would = sum(await countAt({ placements, ad_fp: 'capped' }));
    expect(would).toBeGreaterThan(0);
    expect(would).toBeLessThanOrEqual(advertisers.size);
    expect(sum((await post({ placements, ad_fp: 'capped' }, { path: 'offers' })).body.data)).toBe(would);
    expect(sum(await countAt({ placements, ad_fp: 'capped' }))).toBe(0);
    await setRules({});
  });

  test('applies total caps without reserving anything', async () => {
    await setRules({ total_caps: [{ metric: 'impressions', per: 'lifetime', limit: 1 }] });
    for (let call = 0; call < 5; call += 1) expect(await countAt({ placement: 'checkout' })).toEqual({ count: 3 });
    await setRules({ exclusion_groups: ['all'] });
    expect(await countAt({ placement: 'checkout' })).toEqual({ count: 1 });
    await setRules({});
  });

  test('returns 0 if the unit is turned off', async () => {
    await t.pool.query('update publishers set unit_enabled = false where id = $1', [t.publisher.id]);
    await t.deps.catalog.refresh();
    expect(await countAt({ placement: 'checkout' })).toEqual({ count: 0 });
    await t.pool.query('update publishers set unit_enabled = true where id = $1', [t.publisher.id]);
    await t.deps.catalog.refresh();
  });

  test('can be sent by browsers, and is rejected whenever the fetch would be', async () => {
    const { headers } = await post({ placement: 'checkout' });
    expect(headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' });
    expect((await post({ placement: 'checkout' }, { key: t.publisher.sdkId })).status).toBe(200);
    expect((await post({ placement: 'checkout' }, { key: 'wrong' })).status).toBe(401);
    expect((await post({})).body.error.code).toBe('missing_placement');
    expect((await post({ placement: 'checkout', pub_user_id: 'ada@example.com' })).body.error.code).toBe(
      'pub_user_id_is_pii',
    );
    expect((await post({ placements: [] })).body.error.code).toBe('missing_placement');
    expect((await post({ placement: 'checkout' }, { query: '&campaignId=1,2' })).status).toBe(400);
    expect((await post({ placement: 'checkout', more: 'x'.repeat(64 * 1024) })).status).toBe(413);
  });
});
