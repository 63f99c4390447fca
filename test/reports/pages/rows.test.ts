import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayMs, dayOf } from '../../../src/platform/lib/time.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { type RowsQuery, readRows } from '../../../src/reports/rows/query.ts';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { addPostbackEndpoint, clickOffer, createTimedApp, track } from '../../tracking/conversions/support.ts';
import { call, fetchOffers, googlebot, showOffer } from '../../tracking/journey.ts';
import { rollUpAll } from '../support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let analyst: TestUser;
const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;
const session = { country: 'DE', plan: 'gold' };

beforeAll(async () => {
  t = await createTimedApp();
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
  analyst = await signInAs(t, 'analyst');
  // Two clicked sessions with a conversion each, one of which is voided, and a repeated click and conversion.
  const first = await clickOffer(t, session);
  await call(t, first.click_url);
  for (let time = 0; time < 2; time += 1) await track(t, { click_id: first.clickId, payout: '5', txn_id: 'order-1' });
  const second = await clickOffer(t, session);
  await track(t, { click_id: second.clickId, payout: '7', txn_id: 'order-2' });
  await track(t, { click_id: second.clickId, payout: '7', txn_id: 'order-2', void: '1' });
  // A click by a bot, a click without an impression, an empty session and a development session.
  await call(t, (await showOffer(t)).click_url, { 'user-agent': googlebot });
  await call(t, (await showOffer(t)).click_url);
  const { sessionId: emptyId } = await fetchOffers(t);
  await t.pool.query(
    "update sessions set offer_ids = '{}', campaign_ids = '{}', empty_reason = 'no_offers' where id = $1",
    [emptyId],
  );
  await fetchOffers(t, { dev: true });
  t.clock.ms += 1000;
  await rollUpAll(t, t.clock.ms);
});
afterAll(() => t.close());

const hrefsIn = (body: string): { href: string; number: number }[] =>
  [...body.matchAll(/<a class="opens-rows" href="([^"]*)"[^>]*>\s*(?:<[^>]*>\s*)?([\d,.]+)\s*</g)].map(
    ([, href, text]) => ({
      href: (href as string).replaceAll('&amp;', '&'),
      number: Number((text as string).replaceAll(',', '')),
    }),
  );

/** Returns the lines of the CSV for a page of rows. The page and the file have the same query. */
async function linesOf(href: string): Promise<string[][]> {
  const { statusCode, body } = await analyst.get(href.replace('/rows?', '/rows.csv?'));
  expect(statusCode, href).toBe(200);
  return body
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','));
}

describe('every number of a report opens its rows', () => {
  const metrics = 'sessions,filled_sessions,impressions,clicks,conversions';

  test.each([
    ['time', ''],
    ['time', '&interval=hour'],
    ['placement', ''],
    ['campaign', ''],
    ['offer', ''],
    ['advertiser', ''],
    ['country', ''],
    ['device', ''],
    ['custom.plan', ''],
    ['placement', '&also=offer&also=country'],
    ['offer', '&placement=checkout&country=DE'],
  ])('by %s%s', async (by, more) => {
    const { body } = await analyst.get(own(`/reports?range=today&compare=none&by=${by}${more}&metrics=${metrics}`));
    const links = hrefsIn(body);
    expect(links.length).toBeGreaterThan(5);
    for (const { href, number } of links) {
      const lines = await linesOf(href);
      // The column `counts` is 1, or -1 for a void.
      expect([href, lines.reduce((sum, line) => sum + Number(line[10]), 0)]).toEqual([href, number]);
    }
  });

  test('on the overview and the page of a campaign', async () => {
    for (const path of ['/overview', '/campaigns/1', '/settings/placements/checkout']) {
      const links = hrefsIn((await analyst.get(own(path))).body).filter(({ href }) =>
        /metrics=(sessions|impressions|clicks|conversions)/.test(href),
      );
      expect(links.length, path).toBeGreaterThan(2);
      for (const { href, number } of links.filter(({ href }) => !href.includes('minutes=')))
        expect([href, (await linesOf(href)).length]).toEqual([href, number]);
    }
  });

  test('the live numbers open the rows of the last minutes', async () => {
    const links = hrefsIn((await analyst.get(own('/overview'))).body).filter(({ href }) => href.includes('minutes=30'));
    expect(links).toHaveLength(3);
    for (const { href, number } of links) expect([href, (await linesOf(href)).length]).toEqual([href, number]);
  });

  test('amounts open the rows that add up to them', async () => {
    const lines = await linesOf(own('/rows?range=today&metrics=revenue'));
    const { body } = await analyst.get(own('/reports?range=today&compare=none&by=time&metrics=revenue'));
    const total = /id="metric-revenue"[\s\S]*?US\$([\d,.]+)/.exec(body)?.[1];
    expect(lines.reduce((sum, line) => sum + Number(line[12]), 0)).toBeCloseTo(Number(total), 6);
    expect(new Set(lines.map((line) => line[14]))).toEqual(new Set(['USD']));
  });
});

describe('a row says why it counts or not', () => {
  const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  const page = async (query: string): Promise<string> => textOf((await analyst.get(own(`/rows${query}`))).body);

  test('clicks from bots or without an impression are listed with the reason, and repeated clicks once', async () => {
    const excluded = await page('?range=today&metrics=clicks&status=excluded');
    expect(excluded).toMatch(/not counted from a bot/);
    expect(excluded).toMatch(/not counted no impression before it/);
    expect(await linesOf(own('/rows?range=today&metrics=clicks'))).toHaveLength(2);
    expect(await linesOf(own('/rows?range=today&metrics=clicks&status=all'))).toHaveLength(4);
    expect(excluded).toContain('Repeated events get the same response and are not stored again.');
  });

  test('development sessions are not counted, and empty sessions are', async () => {
    expect(await page('?range=today&metrics=sessions&status=excluded')).toMatch(/not counted development session/);
    expect(await page('?range=today&metrics=sessions')).toMatch(/counted no offer: no_offers/);
  });

  test('a void counts as −1, next to its conversion with the transaction ID', async () => {
    const text = await page('?range=today&metrics=conversions');
    expect(text).toMatch(/Conversion voided .*order-2/);
    expect(text).toContain('counted as −1');
    expect(text).toContain('Conversions in the report: 1 ');
  });

  test('rows that were deleted after their retention period are mentioned', async () => {
    const retentionDays = t.deps.config.retentionRawDays;
    expect(await page('?range=today&metrics=sessions')).not.toContain('have been deleted');
    expect(await page('?range=365d&metrics=sessions')).toContain(`Rows are stored for ${retentionDays} days.`);
  });
});

describe('the list of rows', () => {
  test('has pages without gaps or duplicates, with any number of rows', async () => {
    const query: RowsQuery = {
      publisherId: t.publisher.id,
      metric: 'impressions',
      status: 'all',
      startMs: t.clock.ms - dayMs,
      endMs: t.clock.ms + 1,
      filters: {},
      custom: [],
      storedFrom: dayOf(t.clock.ms - 90 * dayMs),
    };
    const all = (await readRows(t.pool, query, { after: null, limit: 100 })).rows;
    expect(all.length).toBeGreaterThan(1);
    const paged = [];
    for (let after: (typeof all)[number] | null = null; ; ) {
      const { rows, next } = await readRows(t.pool, query, { after, limit: 1 });
      paged.push(...rows);
      if (next === null) break;
      after = { ...(all[0] as (typeof all)[number]), ...next };
    }
    expect(paged).toEqual(all);
  });

  test('ends a slow page early and continues on the next one', async () => {
    let ms = 0;
    const slow = (): number => {
      ms += 1000;
      return ms;
    };
    const query: RowsQuery = {
      publisherId: t.publisher.id,
      metric: 'clicks',
      status: 'all',
      startMs: t.clock.ms - 30 * dayMs,
      endMs: t.clock.ms + dayMs,
      filters: {},
      custom: [],
      storedFrom: dayOf(t.clock.ms - 90 * dayMs),
    };
    const pageRows = [];
    let pages = 0;
    for (let after: Parameters<typeof readRows>[2]['after'] = null; ; pages += 1) {
      const { rows, next } = await readRows(t.pool, query, { after, limit: 100 }, slow);
      pageRows.push(...rows);
      if (next === null) break;
      after = next;
    }
    expect(pages).toBeGreaterThan(1);
    expect(pageRows).toHaveLength(4);
  });

  test('ignores invalid positions and filters, and never fails', async () => {
    for (const query of [
      '?after=x&metrics=nothing&status=x&hour=x&minutes=-1',
      `?after=2026-02-31~${newUuid7(t.clock.ms)}~e`,
      '?from=2026-11-22&to=2026-11-01',
      '?campaign=999999999&custom.plan=%27&hour=1970-01-02T00:00:00Z',
    ])
      expect([200, 422]).toContain((await analyst.get(own(`/rows${query}`))).statusCode);
  });

  test('contains no rows of other publishers', async () => {
    const { rows } = await t.pool.query<{ id: number }>(
      "insert into publishers (name, sdk_id) values ('Other', 'eeeeeeeeeeeeeeee') returning id",
    );
    await t.deps.catalog.refresh();
    const operator = await signInAs(t, 'operator');
    const other = await operator.get(`/dashboard/p/${rows[0]?.id}/rows.csv?range=today&metrics=sessions&status=all`);
    expect([other.statusCode, other.body.trim().split('\r\n').length]).toEqual([200, 1]);
    expect((await analyst.get(`/dashboard/p/${rows[0]?.id}/rows`)).statusCode).toBe(404);
  });
});

describe('GET /manage/v1/reports/rows', () => {
  const get = async (query: string) =>
    (await t.app.inject(`/manage/v1/reports/rows?api_key=${t.publisher.key}${query}`)).json();
  const today = () => `&from=${dayOf(t.clock.ms)}&to=${dayOf(t.clock.ms)}&timezone=UTC`;

  test('returns the rows of a metric in pages, with filters', async () => {
    const first = await get(`${today()}&metric=clicks&status=all&limit=3`);
    expect(first.data.rows).toHaveLength(3);
    const second = await get(`${today()}&metric=clicks&status=all&limit=3&cursor=${first.data.next_cursor}`);
    expect([second.data.rows.length, second.data.next_cursor]).toEqual([1, null]);
    const reasons = [...first.data.rows, ...second.data.rows].map(({ reason }) => reason);
    expect(reasons.sort()).toEqual(['bot', 'no_impression', null, null]);
    const gold = await get(`${today()}&metric=clicks&status=all&custom.plan=gold&country=DE`);
    expect(gold.data.rows).toHaveLength(2);
    expect(gold.data.rows[0]).toMatchObject({ kind: 'click', counted: 1, country: 'DE', placement: 'checkout' });
  });

  test('rejects an invalid cursor', async () => {
    expect((await get(`${today()}&cursor=x`)).error.code).toBe('invalid_request');
  });
});
