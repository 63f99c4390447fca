import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeHistory } from '../../../src/demo/write-history.ts';
import { saveEndpoint } from '../../../src/webhooks/endpoint-changes.ts';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { rollUpAll } from '../support.ts';

let t: TestApp;
let analyst: TestUser;
const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;

beforeAll(async () => {
  const nowMs = Date.now();
  // The clock is frozen. Otherwise, a session could leave the range between two requests.
  t = await createTestApp({ now: () => nowMs });
  await t.pool.query(
    "update campaigns set payout_kind = case when id % 2 = 0 then 'cpa' else 'cpc' end, payout_amount = 0.5",
  );
  await t.pool.query('update publishers set created_at = $1', [new Date(nowMs)]);
  const { pool, secretBox } = t.deps;
  const endpoint = { publisherId: t.publisher.id, event: 'usp.selection', method: 'POST', enabled: true } as const;
  await saveEndpoint(pool, secretBox, { ...endpoint, url: 'http://127.0.0.1:9/', nowMs });
  await t.deps.catalog.refresh();
  await writeHistory(t.deps);
  // Sessions at every stage of the perk funnel: without a confirmation, and with a webhook that failed.
  await t.pool.query(
    `update usp_sessions set wrapped_at = null
    where session_id in (select session_id from usp_sessions order by session_id limit 20)`,
  );
  await t.pool.query(
    "update deliveries set status = 'failed' where id in (select id from deliveries order by id desc limit 20)",
  );
  await rollUpAll(t, nowMs);
  analyst = await signInAs(t, 'analyst');
});
afterAll(() => t.close());

/** Returns a page with the parts that it loads later. */
async function pageOf(path: string): Promise<string> {
  const { statusCode, body } = await analyst.get(own(path));
  expect(statusCode, path).toBe(200);
  const later = [...body.matchAll(/hx-get="([^"]*)" hx-trigger="load"/g)].map(([, url = '']) =>
    url.replaceAll('&amp;', '&'),
  );
  const parts = await Promise.all(later.map(async (url) => (await analyst.get(url)).body));
  return [body, ...parts].join('\n');
}

const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Places outside tables in which pages show numbers: tiles and bars. */
const places = [/<div class="stat"[^>]*>([\s\S]*?)<\/div>/g, /<span class="numeric">([\s\S]*?)<\/span>/g];

/** Columns with settings, and with shares of two numbers that open their own rows. */
const isOther = /^(Weight|Priority|Share of)/;

/** Returns the numeric cells of all tables. */
const cellsIn = (body: string): string[] =>
  [...body.matchAll(/<table>([\s\S]*?)<\/table>/g)].flatMap(([, table = '']) => {
    const headings = [...table.matchAll(/<th [^>]*>([\s\S]*?)<\/th>/g)].map(([, text = '']) => textOf(text));
    return [...table.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].flatMap(([, row = '']) =>
      [...row.matchAll(/<td( class="numeric")?>([\s\S]*?)<\/td>/g)].flatMap(([, numeric, content = ''], index) =>
        numeric === undefined || isOther.test(headings[index] ?? '') ? [] : [content],
      ),
    );
  });

/** Returns the numbers of 1 or more on a page that do not open their rows. Changes and shares are in `small`. */
const unlinked = (body: string): string[] =>
  [...cellsIn(body), ...places.flatMap((place) => [...body.matchAll(place)].map(([, content = '']) => content))]
    .map((content) => content.replaceAll(/<small[\s\S]*?<\/small>|<svg[\s\S]*?<\/svg>/g, ''))
    .filter((content) => !content.includes('class="opens-rows"') && /[1-9]/.test(textOf(content)))
    .map(textOf)
    // Estimate of the sessions that match a campaign's targeting.
    .filter((text) => !/^Reach .* match/.test(text));

/** Removes the card about unique users, which are counted in sketches and have no rows. */
const withoutReach = (body: string): string =>
  body.replaceAll(/<section class="card">\s*<div class="card-head">\s*<div>\s*<h2>Reach[\s\S]*?<\/section>/g, '');

const metrics = 'sessions,filled_sessions,fill_rate,impressions,clicks,ctr,conversions,cvr,revenue,rpm,unbilled';

describe('every number greater than 0 is a link to the rows that it counts', () => {
  test.each([
    '/overview?days=30',
    `/reports?range=last-week&by=time&metrics=${metrics}`,
    `/reports?range=today&by=time&compare=week&metrics=${metrics}&metric=sessions`,
    `/reports?range=30d&by=placement&view=bar&metrics=${metrics}&metric=impressions`,
    '/reports?range=30d&by=offer&also=placement&view=bar',
    '/campaigns',
    '/campaigns/1',
    '/offers',
    '/offers/1',
    '/advertisers',
    '/advertisers/1',
    '/settings/placements',
    '/settings/placements/checkout',
  ])('on %s', async (path) => {
    expect(unlinked(withoutReach(await pageOf(path)))).toEqual([]);
  });
});

const linksIn = (body: string): { href: string; number: number }[] =>
  [...body.matchAll(/<a class="opens-rows" href="([^"]*)"[^>]*>\s*(?:<[^>]*>\s*)?([\d,]+)\s*</g)].map(
    ([, href = '', text = '']) => ({ href: href.replaceAll('&amp;', '&'), number: Number(text.replaceAll(',', '')) }),
  );

/** Returns what the rows of a link add up to: 1 for each counted row, and -1 for each void. */
async function sumOf(href: string): Promise<number> {
  const { statusCode, body } = await analyst.get(href.replace('/rows?', '/rows.csv?'));
  expect(statusCode, href).toBe(200);
  const lines = body.trim().split('\r\n').slice(1);
  return lines.reduce((sum, line) => sum + Number(/,(-?[01]),[a-z_]*,[^,]*,[^,]*,[A-Z]{0,3},/.exec(line)?.[1]), 0);
}

describe('the rows add up to the number', () => {
  const isCounted = ({ href }: { href: string }): boolean =>
    /metrics=(sessions|filled_sessions|impressions|clicks|conversions|perks_\w+)($|&)/.test(href) &&
    !href.includes('minutes=');

  test.each([
    ['in the table below a chart by day', '/reports?range=30d&by=time&metric=sessions&compare=previous'],
    ['in the table below a chart by hour', '/reports?range=yesterday&by=time&metric=impressions&interval=hour'],
    ['in bars', '/reports?range=30d&by=offer&view=bar&metrics=clicks,impressions&metric=clicks&compare=none'],
    ['in lists of campaigns', '/campaigns'],
    ['on the overview', '/overview?days=7'],
  ])('%s', async (_name, path) => {
    const links = linksIn(await pageOf(path)).filter(isCounted);
    const unique = [...new Map(links.map((link) => [link.href, link])).values()];
    // A sample: the first and the last ones, which are those of the newest and the oldest days.
    const sample = [...unique.slice(0, 5), ...unique.slice(-5)];
    expect(sample.length).toBeGreaterThan(3);
    for (const { href, number } of sample) expect([href, await sumOf(href)]).toEqual([href, number]);
  });

  test.each(['', '&placement=checkout', '&country=GB&country=DE', '&offer=1', '&campaign=1&device=mobile'])(
    'in the perk funnel%s',
    async (filter) => {
      const { body } = await analyst.get(own(`/reports/funnel?range=30d${filter}`));
      const links = linksIn(body).filter(isCounted);
      const perks = links.filter(({ href }) => href.includes('metrics=perks_'));
      expect(perks.length).toBeGreaterThanOrEqual(3);
      for (const { href, number } of links) expect([href, await sumOf(href)]).toEqual([href, number]);
    },
  );
});

test('sessions that left the perk funnel are listed with the reason', async () => {
  const rows = async (metric: string) =>
    textOf((await analyst.get(own(`/rows?range=90d&metrics=${metric}&status=excluded`))).body);
  expect(await rows('perks_confirmed')).toContain('not counted perks not confirmed');
  expect(await rows('perks_delivered')).toContain('not counted webhook not delivered');
  const counted = textOf(await pageOf('/rows?range=30d&metrics=perks_delivered'));
  expect(counted).toMatch(/Sessions with a delivered perk webhook in the report: [1-9]/);
});

test('the API lists the sessions of the perk funnel', async () => {
  const url = `/manage/v1/reports/rows?api_key=${t.publisher.key}&metric=perks_confirmed&status=all&limit=5`;
  const { data } = (await t.app.inject(url)).json();
  expect(data.rows).toHaveLength(5);
  expect(data.rows[0]).toMatchObject({ kind: 'session', offer_id: null });
});
