import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asReader, readerOf } from '../../../src/platform/i18n/reader.ts';
import { dayMs, hourMs } from '../../../src/platform/lib/time.ts';
import { sumOf } from '../../../src/reports/metrics.ts';
import { reportMetrics } from '../../../src/reports/pages/explorer/metrics.ts';
import { periodsOf, rangeText } from '../../../src/reports/pages/explorer/periods.ts';
import { rangeNames } from '../../../src/reports/pages/explorer/ranges.ts';
import { queryOf, readState } from '../../../src/reports/pages/explorer/state.ts';
import { slotsOf } from '../../../src/reports/pages/explorer/time-slots.ts';
import { momentText } from '../../../src/shell/format.ts';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addSums } from '../support.ts';

/** Sunday, 22 November 2026, 14:30 UTC. */
const nowMs = Date.UTC(2026, 10, 22, 14, 30);
const at = new Date(Date.UTC(2026, 10, 20, 10));
let t: TestApp;
let analyst: TestUser;

beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  await t.pool.query("update publishers set time_zone = 'UTC' where id = $1", [t.publisher.id]);
  await t.deps.catalog.refresh();
  await t.pool.query("select create_report_partitions('2026-10-01', '2026-11-30')");
  await addSums(t, [
    {
      at,
      placement: 'checkout',
      offerId: 1,
      campaignId: 1,
      sessions: 9,
      filled_sessions: 6,
      impressions: 5,
      clicks: 2,
    },
    {
      at,
      placement: 'checkout',
      offerId: 2,
      campaignId: 2,
      sessions: 4,
      filled_sessions: 4,
      impressions: 3,
      clicks: 3,
    },
    { at, placement: 'confirmation', offerId: 2, campaignId: 2, impressions: 7, clicks: 1 },
  ]);
  analyst = await signInAs(t, 'analyst');
});
afterAll(() => t.close());

const get = async (path: string): Promise<string> =>
  (await analyst.get(`/dashboard/p/${t.publisher.id}/reports${path}`)).body;
const csv = async (query: string): Promise<string[]> => (await get(`.csv${query}`)).trim().split('\r\n');
/** Returns the text of the table rows, starting with the header. The chart has its own table before this one. */
const rowsOf = (body: string): string[] => rowTexts(body.split('<table>').at(-1)?.split('<tfoot>')[0] ?? '');
const totalOf = (body: string): string | undefined => rowTexts(body.split('<tfoot>')[1] ?? '')[0];
const rowTexts = (part: string): string[] =>
  [...part.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    row
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );

test.each([
  ['week', '2026-11-16', '2026-11-22'],
  ['last-week', '2026-11-09', '2026-11-15'],
  ['month', '2026-11-01', '2026-11-22'],
  ['last-month', '2026-10-01', '2026-10-31'],
  ['quarter', '2026-10-01', '2026-11-22'],
  ['last-quarter', '2026-07-01', '2026-09-30'],
  ['year', '2026-01-01', '2026-11-22'],
])('the range %s follows the calendar', (range, from, to) => {
  expect(periodsOf(readState({ range }), 'UTC', nowMs).days).toEqual({ from, to });
});

test('every range contains days on every day of a year', () => {
  for (let day = 0; day < 366; day += 1) {
    const noonMs = Date.UTC(2028, 0, 1 + day, 12);
    for (const range of rangeNames) {
      const { from, to } = periodsOf(readState({ range, compare: 'none', interval: 'day' }), 'UTC', noonMs).days;
      expect(Date.parse(from), `${range} ${day}`).toBeLessThanOrEqual(Date.parse(to));
      expect(Date.parse(to)).toBeLessThanOrEqual(noonMs);
    }
  }
});

test.each([
  ['Europe/Berlin', '2026-10-26T01:40:00+01:00', '2026-10-25T02:00:00+02:00'],
  ['Europe/Berlin', '2026-03-30T02:40:00+02:00', '2026-03-29T03:00:00+02:00'],
  ['America/St_Johns', '2026-11-02T00:10:00-03:30', '2026-11-01T01:00:00-02:30'],
  ['Asia/Kathmandu', '2026-05-02T00:20:00+05:45', '2026-05-01T01:00:00+05:45'],
])('in %s, today at %s is compared with yesterday until %s', (zone, now, until) => {
  const { beforeUntilMs } = periodsOf(readState({ range: 'today' }), zone, Date.parse(now));
  expect(beforeUntilMs).toBe(Date.parse(until));
});

test.each([
  ['Australia/Lord_Howe', '2026-04-05', 98],
  ['Australia/Lord_Howe', '2026-10-04', 94],
  ['America/Nuuk', '2026-10-24', 100],
  ['Europe/Berlin', '2026-03-29', 92],
])('in %s, the hourly chart of %s contains all activity', async (zone, day, quarters) => {
  const { rows } = await t.pool.query<{ start: Date; sessions: number }>(
    `select date_trunc('hour', date_trunc('hour', at, $1), $1) as start, count(*)::int as sessions
    from generate_series($2::timestamp at time zone $1, ($2::date + 1)::timestamp at time zone $1 - interval '1 ms',
      interval '15 minutes') as at
    group by 1`,
    [zone, day],
  );
  const series = rows.map(({ start, sessions }) => ({
    time: start.toISOString(),
    startMs: start.getTime(),
    group: [],
    metrics: { ...sumOf([]), sessions },
  }));
  const none = { now: sumOf([]), before: null };
  const state = readState({ from: day, to: day, interval: 'hour', compare: 'none' });
  const slots = slotsOf(
    periodsOf(state, zone, nowMs),
    { series, seriesBefore: [], total: none, groups: [], rowCount: null },
    zone,
    nowMs,
  );
  expect(slots.reduce((sum, { now }) => sum + (now?.sessions ?? 0), 0)).toBe(quarters);
});

test('dates have the same format in every language', () => {
  const day = '2026-11-09';
  const forms = (language: string): string[] =>
    asReader(readerOf(language, null), () => [
      momentText({ timeZone: 'UTC' }, Date.parse(day), 'day'),
      momentText({ timeZone: 'UTC' }, Date.parse(day)).replace(/,? (um )?\d{1,2}:\d{2}( [AP]M)?$/i, ''),
      rangeText({ from: day, to: day }),
    ]);
  for (const language of ['en-GB', 'en-US', 'de-DE', 'de-AT']) expect(new Set(forms(language)).size, language).toBe(1);
  expect(forms('de-DE')[0]).toBe('9. Nov. 2026');
});

describe('a table', () => {
  const three = '?range=7d&compare=none&metrics=impressions,clicks&by=placement&also=campaign&also=offer';

  test('has up to three dimensions, whose rows add up to those of one dimension', async () => {
    const [heading, ...rows] = rowsOf(await get(three));
    expect(heading).toMatch(/^Placement Campaign Offer Impressions Clicks$/);
    expect(rows.map((row) => row.match(/ (\d+) (\d+)$/)?.slice(1))).toEqual([
      ['7', '1'],
      ['5', '2'],
      ['3', '3'],
    ]);
    const [columns, ...lines] = await csv(three);
    expect(columns).toBe('placement,campaign_id,campaign,offer_id,offer,impressions,clicks');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^confirmation,2,.*,2,.*,7,1$/);
    const compared = await csv(three.replace('&compare=none', ''));
    expect(compared[1]).toMatch(/,7,0,1,0$/);
    expect(queryOf(readState(Object.fromEntries([['also', ['offer', 'campaign', 'os', 'country']]])))).toBe(
      '?also=campaign&also=offer',
    );
    for (const by of ['time', 'advertiser', 'custom.plan']) expect(readState({ by, also: 'offer' }).also).toEqual([]);
  });

  test('is sorted by its column headings in both directions, and its CSV in the same order', async () => {
    const headOf = (body: string, name: string): string =>
      new RegExp(`id="head-${name}" href="([^"]*)"`).exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const first = await get(three);
    let body = first;
    const orders: string[][] = [];
    for (let click = 0; click < 2; click += 1) {
      const href = headOf(body, 'clicks').replace(/^.*\/reports/, '');
      body = await get(href);
      orders.push(
        rowsOf(body)
          .slice(1)
          .map((row) => row.split(' ').at(-1) ?? ''),
      );
      expect((await csv(href)).slice(1).map((line) => line.split(',').at(-1))).toEqual(orders[click]);
    }
    expect(orders).toEqual([
      ['3', '2', '1'],
      ['1', '2', '3'],
    ]);
    expect(body).toContain('aria-sort="ascending"');
    const byName = await get(headOf(first, 'name').replace(/^.*\/reports/, ''));
    expect(rowsOf(byName)[1]).toMatch(/^checkout/);
  });

  test('shows no rate without a denominator, on the page or in its CSV', async () => {
    const metrics = 'metrics=sessions,fill_rate,impressions,ctr,conversions,cvr,rpm';
    for (const by of ['offer', 'campaign', 'advertiser']) {
      const body = await get(`?range=7d&compare=none&by=${by}&${metrics}`);
      expect(rowsOf(body).slice(1).join(' '), by).not.toContain('100%');
      expect((await csv(`?range=7d&compare=none&by=${by}&${metrics}`))[1], by).toContain(',,');
    }
    const nothing = rowsOf(await get(`?range=7d&compare=none&by=placement&${metrics}`)).find((row) =>
      row.startsWith('confirmation'),
    );
    expect(nothing).toBe('confirmation 0 – 7 14.29% 0 0% –');
    const days = await get('?range=7d&compare=none&metrics=ctr&by=time');
    expect(days).toMatch(/data-chart="[^"]*\[null,null,null,null,0\.4,null,null\]/);
  });

  test('shows no sessions per advertiser, because several campaigns can count the same session', async () => {
    const query = '?range=7d&by=advertiser&metrics=sessions,filled_sessions,rpm,clicks';
    for (const sort of ['most', 'least', 'change']) {
      const body = await get(`${query}&metric=sessions&sort=${sort}`);
      expect(rowsOf(body)).toEqual(['Advertiser Clicks', 'Basilwick Kitchen 6']);
      expect(body).toContain('Columns left out, because no row has a value: Sessions, Filled sessions, RPM.');
      expect(body).not.toContain('NaN');
    }
    expect((await csv(query))[1]).toBe('1,Basilwick Kitchen,,,,,6,0,,,USD');
    expect(rowsOf(await get(`${query}&campaign=1`))[1]).toMatch(/^Basilwick Kitchen 9 6 /);
  });

  test('shows no change and no previous value for a missing value', async () => {
    const weekBefore = { at: new Date(at.getTime() - 7 * dayMs), placement: 'app', offerId: 3, campaignId: 3 };
    await addSums(t, [{ ...weekBefore, sessions: 2, filled_sessions: 2, impressions: 4, clicks: 2 }]);
    const query = '?range=7d&by=campaign&metrics=fill_rate,clicks,ctr&metric=ctr';
    const line = (await csv(query)).find((row) => row.startsWith('3,'));
    expect(line).toMatch(/,,,0,2,,50$/);
    expect((await csv(query))[1]).toMatch(/,,,\d+,0,[\d.]+,$/);
    const page = await get(`${query}&placement=app`);
    const tile = /id="metric-ctr"[\s\S]*?<\/div>/.exec(page)?.[0];
    expect(tile).toMatch(/<strong>–<\/strong>\s*<\/div>/);
    const bars = /<ul class="bars"[\s\S]*?<\/ul>/.exec(await get(`${query}&placement=app&view=bar`))?.[0] ?? '';
    expect(bars).toMatch(/–\s*<\/span>/);
  });

  test('ends with totals in which each session counts once', async () => {
    const query = '?range=7d&compare=none&metrics=sessions,impressions,clicks,ctr';
    expect(totalOf(await get(`${query}&by=offer`))).toBe('Total 13 15 6 40%');
    expect(totalOf(await get(`${query}&by=placement&also=offer`))).toBe('Total 13 15 6 40%');
    expect(totalOf(await get(`${query}&by=placement&campaign=1&campaign=2`))).toBe('Total 15 6 40%');
    expect((await csv(`${query}&by=offer`)).some((line) => line.includes('Total'))).toBe(false);
  });

  test('has the currency in the headings of amounts, and in each row of its CSV', async () => {
    const query = '?range=7d&compare=none&metrics=clicks,revenue,rpm&by=placement';
    expect(rowsOf(await get(query))[0]).toBe('Placement Clicks Revenue (USD) RPM (USD)');
    const [heading, ...lines] = await csv(query);
    expect(heading).toBe('placement,clicks,revenue,rpm,currency');
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toMatch(/,USD$/);
  });

  test('says which metrics cannot be compared instead of marking each row as new', async () => {
    const query = '?from=2026-11-16&to=2026-11-22&by=offer&metrics=impressions,clicks,conversions';
    const none = await get(query.replace('16', '19').replace('compare=none', ''));
    expect(none).toContain('No comparison, because there is no data for');
    expect(rowsOf(none).join()).not.toMatch(/\d new/);
    const other = { country: 'FR', device: 'desktop', os: 'linux', placement: 'old', offerId: 9, campaignId: 9 };
    await addSums(t, [{ ...other, at: new Date(at.getTime() - 6 * dayMs - 2 * hourMs), clicks: 1 }]);
    const some = await get(query);
    expect(some).toMatch(/No comparison, because there is no data for [^:]*: [^.]*Conversions\./);
    expect(rowsOf(some).join()).toMatch(/\d new/);
  });

  test('has percentages in its CSV, as on the page, and a byte order mark only for Excel', async () => {
    const query = '?range=7d&compare=none&metrics=ctr,clicks&by=placement';
    const [heading, line] = await csv(query);
    expect(heading).toBe('placement,clicks,ctr_percent');
    const onPage = / (\d+) ([\d.]+)%$/.exec(
      rowsOf(await get(query)).find((row) => row.startsWith('confirmation')) ?? '',
    );
    const lines = await csv(query);
    expect(lines.find((text) => text.startsWith('confirmation'))).toBe(`confirmation,${onPage?.[1]},${onPage?.[2]}`);
    expect(line?.startsWith('\uFEFF')).toBe(false);
    const body = await get(query);
    const excel = /href="([^"]*bom=true)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const file = (await analyst.get(excel)).rawPayload;
    expect([...file.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    expect(file.subarray(3).toString()).toBe((await analyst.get(excel.replace('&bom=true', ''))).body);
  });

  test('explains each of its metrics and links to all terms', async () => {
    await t.pool.query(
      `insert into reach_pending (publisher_id, bucket, placement, offer_id, campaign_id, country, device, os, weight,
        users, unknown)
      values ($1, '2026-11-20Z', 'checkout', 1, 1, 'DE', 'mobile', 'ios', 1, array[gen_random_uuid()], 0)`,
      [t.publisher.id],
    );
    const names = reportMetrics.map(({ name }) => name).join(',');
    const body = await get(`?metrics=${names}`);
    for (const { text, definition } of reportMetrics) {
      expect(definition.length, text).toBeGreaterThan(10);
      expect(body).toMatch(new RegExp(`<dt>${text}</dt><dd>`));
    }
    expect(body.match(/title="/g)?.length ?? 0).toBeGreaterThanOrEqual(2 * reportMetrics.length);
    expect(body).toContain('href="/docs/guides/glossary"');
    expect((await analyst.get('/docs/guides/glossary')).statusCode).toBe(200);
  });
});
