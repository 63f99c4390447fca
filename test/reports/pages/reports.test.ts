import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { openAs, signInAs, type TestUser } from '../../dashboard/support.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';
import { openFromNavigation } from '../../support/main-navigation.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addSums } from '../support.ts';

/** Sunday, 22 November 2026, 14:30 UTC. The database clock is not used. */
const nowMs = Date.UTC(2026, 10, 22, 14, 30);
let t: TestApp;
let analyst: TestUser;
let browser: Browser;
let base: string;
const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;

beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  await t.pool.query("update publishers set time_zone = 'UTC' where id = $1", [t.publisher.id]);
  await t.deps.catalog.refresh();
  analyst = await signInAs(t, 'analyst');
  await t.pool.query("select create_report_partitions('2026-10-01', '2026-11-30')");
  await addSums(t, [...twoWeeks(), ...manyOffers()]);
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await t.close();
});

/**
 * Returns fifteen days of activity, at 10:00 and 16:00. In the last five days, the confirmation page earns a quarter of
 * its previous revenue.
 */
function twoWeeks() {
  return Array.from({ length: 15 }, (_, back) => back).flatMap((back) => {
    const share = back < 5 ? 1 : 4;
    return [10, 16].flatMap((hour) => {
      const at = new Date(Date.UTC(2026, 10, 22, hour) - back * dayMs);
      if (at.getTime() > nowMs) return [];
      return [
        { at, placement: 'checkout', offerId: 1, sessions: 100, filled_sessions: 90, impressions: 80, clicks: 8 },
        {
          at,
          placement: 'confirmation',
          offerId: 2,
          sessions: 50,
          filled_sessions: 40,
          impressions: 40,
          clicks: 5 * share,
        },
      ].map((fact) => ({ ...fact, campaignId: fact.offerId, revenue_micros: fact.clicks * 500_000 }));
    });
  });
}

/** Returns 25 offers with a few impressions each, within one hour thirteen days ago. */
const manyOffers = () =>
  Array.from({ length: 25 }, (_, index) => {
    const offerId = 100 + index;
    return { at: new Date(Date.UTC(2026, 10, 9, 10)), placement: 'checkout', offerId, impressions: offerId };
  });

const pageErrors: string[] = [];

/** Opens a page in a browser, signed in as a user. */
async function open(user: TestUser, path: string): Promise<Page> {
  const page = await openAs(browser, user, base, path);
  page.on('pageerror', (err) => pageErrors.push(String(err)));
  page.on('console', (message) => message.type() === 'error' && pageErrors.push(message.text()));
  return page;
}

test('a publisher finds out which placement lost revenue and shares the link of the report', async () => {
  const manager = await signInAs(t, 'manager');
  const page = await open(manager, own('/overview'));
  await openFromNavigation(page, 'Reports');
  // Compares the 7 days until 15:00 with the 7 days before. Revenue drops by at most 4 × 8 clicks of 0.50 each, all on
  // the confirmation page.
  await page.getByText('Revenue down by').waitFor();
  const insight = (await page.locator('.insight').innerText()).replaceAll(/\s+/g, ' ');
  expect(insight).toMatch(/^Revenue down by .+ confirmation alone lost /);
  await page.locator('.insight').getByRole('link', { name: 'confirmation' }).click();
  await page.getByLabel('Remove filter Placement: confirmation').waitFor();
  await page.getByRole('link', { name: 'Country' }).click();
  await page.getByRole('link', { name: 'Germany' }).waitFor();
  await page.locator('[data-chart] canvas').waitFor();
  const revenue = await page.locator('#metric-revenue strong').innerText();
  // The legend shows the whole period while the pointer is elsewhere.
  const legend = await page.locator('[data-chart] .u-legend').innerText();
  expect(legend).toContain('whole period');
  expect(legend).toContain(revenue);
  await page.getByText('Share', { exact: true }).click();
  const link = await page.getByLabel('Link to this report', { exact: true }).innerText();
  expect(link).toContain('placement=confirmation');

  const colleague = await open(analyst, new URL(link).pathname + new URL(link).search);
  await colleague.getByLabel('Remove filter Placement: confirmation').waitFor();
  await colleague.getByRole('link', { name: 'Germany' }).waitFor();
  expect(await colleague.locator('#metric-revenue strong').innerText()).toBe(revenue);
  expect(pageErrors).toEqual([]);
});

test('selecting an unsupported report explains the problem and links to a supported one', async () => {
  const page = await open(analyst, own('/reports?range=90d'));
  await page.locator('#interval summary').click();
  await page.locator('#interval').getByRole('link', { name: 'By hour' }).click();
  await page.getByText('Hourly reports can cover up to 31 days.').waitFor();
  expect(new URL(page.url()).search).toContain('interval=hour');
  await page.getByRole('link', { name: 'Show by day' }).click();
  await page.locator('[data-chart] canvas').waitFor();
});

const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const report = (query: string) => analyst.get(own(`/reports${query}`));

test('a range that ends today is compared with the same hours of the previous range', async () => {
  // There are 100 sessions at 10:00 and 100 at 16:00. Today, 16:00 is still in the future. Until 15:00, today and last
  // Sunday both have one of these hours.
  const answer = await report('?range=today&compare=week&placement=checkout&metrics=sessions&interval=hour');
  expect(textOf(answer.body)).toMatch(/Sessions 100 unchanged/);
  const uneven = await report('?range=today&compare=week&placement=checkout&country=DE&by=offer&interval=day');
  expect(textOf(uneven.body)).toContain('is compared with a full day');
});

test('a chart without values has one action that shows some', async () => {
  const filtered = (await report('?range=today&country=XX&view=line')).body;
  expect(filtered).toMatch(/<a class="button[^>]*href="[^"]*range=today[^"]*"[^>]*>Remove all filters</);
  expect(filtered).not.toContain('data-chart=');
});

test('sessions of several campaigns combined are shown as a dash, and those of one as a number', async () => {
  for (const view of ['line', 'bar', 'table']) {
    const { statusCode, body } = await report(`?range=30d&campaign=1&campaign=2&metrics=sessions,clicks&view=${view}`);
    expect(statusCode).toBe(200);
    expect(textOf(body)).toMatch(/Sessions – /);
    expect(body).not.toContain('NaN');
  }
  expect(textOf((await report('?range=30d&campaign=1&metrics=sessions,clicks')).body)).toMatch(/Sessions [1-9]/);
  const csv = await analyst.get(own('/reports.csv?range=30d&campaign=1&campaign=2&metrics=sessions,clicks'));
  expect(csv.body.split('\r\n')[1]).toMatch(/^[^,]+,,,\d+,\d+$/);
});

test('an unsupported report, such as a year by hour, links to a supported one', async () => {
  const year = await report('?range=365d&interval=hour');
  expect(year.statusCode).toBe(422);
  expect(textOf(year.body)).toContain(
    'Hourly reports can cover up to 31 days. Choose a shorter date range. Show by day',
  );
  const hours = await report('?interval=hour&placement=checkout&country=DE&device=mobile');
  expect(textOf(hours.body)).toContain('Hourly reports can combine at most two');
  const attribute = await report('?by=custom.plan&placement=checkout');
  expect(textOf(attribute.body)).toContain('can’t be combined');
  for (const { body } of [year, hours, attribute]) {
    const fix = /class="button "\s+href="([^"]+)">Show/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect((await analyst.get(fix)).statusCode, fix).toBe(200);
  }
});

test('any URL gets a response, and its content is shown as text', async () => {
  const hostile = '%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E';
  for (const query of [
    `?placement=${hostile}&by=${hostile}&metrics=${hostile}&from=${hostile}&to=${hostile}`,
    `?placement=${hostile}&custom.a=${hostile}&view=x&range=y`,
    '?placement=%00&offer=99999999999&campaign=x&campaign=1&advertiser=7&rows=all&sort=change',
    '?from=2026-11-22&to=2026-11-01',
    '?from=2030-01-01&to=2030-01-02',
    `?${'country=DE&'.repeat(200)}`,
  ]) {
    const { statusCode, body } = await report(query);
    expect([200, 422], query).toContain(statusCode);
    expect(body).not.toContain('<script>alert');
  }
});

test('names of offers that are not provisioned to the publisher are hidden', async () => {
  const { rows } = await t.pool.query<{ id: number }>(
    `with other as (insert into publishers (name, sdk_id) values ('Other', 'ffffffffffffffff') returning id),
      advertiser as (insert into advertisers (publisher_id, name) select id, 'Secret ads' from other returning *),
      campaign as (insert into campaigns (publisher_id, advertiser_id, name, landing_url)
        select publisher_id, id, 'Secret campaign', 'https://secret.example/' from advertiser returning *)
    insert into offers (publisher_id, campaign_id, title) select publisher_id, id, 'Secret offer' from campaign
    returning id`,
  );
  await t.deps.catalog.refresh();
  const id = rows[0]?.id ?? 0;
  expect(t.deps.catalog.current().offers.get(id)?.copy.title).toBe('Secret offer');
  const { body } = await report(`?offer=${id}&campaign=${t.deps.catalog.current().offers.get(id)?.campaign.id}`);
  expect(body).toContain(`Offer ${id}`);
  expect(body).not.toMatch(/Secret (offer|campaign|ads)/);
});

test('CSV contains names next to IDs, and each metric next to its previous value', async () => {
  const answer = await analyst.get(own('/reports.csv?range=yesterday&by=offer&metrics=clicks,revenue'));
  expect(answer.headers['content-disposition']).toBe('attachment; filename="report-2026-11-21-2026-11-21.csv"');
  const offer = t.deps.catalog.current().offers.get(1);
  const [heading, ...lines] = answer.body.trim().split('\r\n');
  expect(heading).toBe(
    'offer_id,offer,campaign_id,campaign,advertiser,clicks,clicks_before,revenue,revenue_before,currency',
  );
  expect(lines.sort()[0]).toBe(
    `1,${offer?.copy.title},1,"${offer?.campaign.name}",${offer?.campaign.advertiserName},16,16,8,8,USD`,
  );
});

test('a report is saved for all users of the publisher, and its author or a manager can remove it', async () => {
  const query = '?range=30d&by=offer&placement=checkout';
  const save = (user: TestUser, name: string) => user.post(own('/reports/saved'), { name, query });
  expect((await save(analyst, 'Checkout <b>offers</b>')).headers.location).toBe(own(`/reports${query}`));
  const colleague = await signInAs(t, 'analyst');
  const page = await colleague.get(own('/reports'));
  expect(page.body).toContain('Checkout &lt;b&gt;offers&lt;/b&gt;');
  const id = (await t.pool.query('select id from saved_reports')).rows[0].id;
  const remove = (user: TestUser) => user.post(own(`/reports/saved/${id}/remove`));
  expect((await remove(colleague)).statusCode).toBe(404);
  await save(colleague, 'Checkout <b>offers</b>');
  expect((await t.pool.query('select query from saved_reports')).rows).toEqual([{ query }]);
  expect((await remove(await signInAs(t, 'manager'))).statusCode).toBe(303);
  expect((await t.pool.query('select from saved_reports')).rowCount).toBe(0);
});

test('lists and pages show the last 7 days of each row', async () => {
  for (const [list, page] of [
    ['/settings/placements', '/settings/placements/checkout'],
    ['/campaigns', '/campaigns/1'],
    ['/offers', '/offers/1'],
  ] as const) {
    // Six days with 2 × 8 clicks of 0.50 each, and one of these hours today.
    expect((await analyst.get(own(list))).body, list).toMatch(/<\/svg> <a class="opens-rows"[^>]*>US\$52\.00/);
    expect(textOf((await analyst.get(own(page))).body), page).toMatch(/Last 7 days .*Revenue US\$52\.00/);
  }
});

test('the overview lists the 10 offers with the most impressions of the range', async () => {
  expect((await analyst.get(own('/overview'))).body).toContain(`hx-get="${own('/overview/offers')}?days=14"`);
  const { body } = await analyst.get(own('/overview/offers?days=14'));
  const rows = body.slice(body.indexOf('By offer')).split('<tr>').slice(2).map(textOf);
  expect(rows).toHaveLength(10);
  // 14 days with two hours of activity each, except for one hour that is still in the future.
  expect(rows[0]).toContain(' 2,160 ');
  expect(rows[1]).toContain(' 1,080 ');
  expect(rows[2]).toMatch(/^ Offer 124 .* 124 /);
});
