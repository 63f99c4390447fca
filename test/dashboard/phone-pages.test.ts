import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeHistory } from '../../src/demo/write-history.ts';
import { type DemoServer, startDemoServer } from '../demo/support.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { timeLimit } from '../support/time-limit.ts';
import { openAs, signInAs } from './support.ts';

/** Maximum height of a page that is not a list, in CSS pixels. */
const maxHeight = 3000;

let demo: DemoServer;
let browser: Browser;
let page: Page;
let base: string;
beforeAll(async () => {
  demo = await startDemoServer('rollup');
  await writeHistory(demo.t.deps);
  browser = await openBrowser();
  base = `/dashboard/p/${demo.t.publisher.id}`;
  const phone = { viewport: { width: 390, height: 844 }, reducedMotion: 'reduce' } as const;
  page = await openAs(browser, await signInAs(demo.t, 'operator'), demo.url, `${base}/offers`, phone);
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

/** Returns the ID of an offer with coupon codes, whose page has one more card. */
async function offerWithCodes(): Promise<number> {
  const { rows } = await demo.t.pool.query<{ id: number }>('select id from offers order by id limit 1 offset 5');
  const id = rows[0]?.id ?? 0;
  const payload = { pattern: 'COFFEE-****-****', count: 400 };
  const headers = { authorization: `Bearer ${demo.t.publisher.key}` };
  await demo.t.app.inject({ method: 'POST', url: `/manage/v1/offers/${id}/coupon-codes`, headers, payload });
  return id;
}

const heightOf = (): Promise<number> => page.evaluate(() => window.document.documentElement.scrollHeight);

// Long timeout: the pages are opened one after another.
test('no page except lists is longer than 3,000 pixels on a phone', { timeout: timeLimit(180_000) }, async () => {
  const tooLong: string[] = [];
  const own = ['/overview', '/offers/1', '/offers/new', '/why?offer=1', '/campaigns/1', '/campaigns/1?edit=schedule'];
  const settings = ['', '/themes/1', '/perk-messages', '/controls', '/webhooks/new', '/keys'];
  const docs = ['/docs', '/docs/events', '/docs/api/campaigns', '/docs/guides/web', '/docs/guides/fetch-offers'];
  for (const path of [
    ...own.map((path) => base + path),
    ...settings.map((path) => `${base}/settings${path}`),
    ...docs,
  ]) {
    await page.goto(demo.url + path);
    await page.locator('[hx-trigger="load"]').waitFor({ state: 'detached' });
    const height = await heightOf();
    if (height > maxHeight) tooLong.push(`${path}: ${height}`);
  }
  // German labels are longer.
  await page.setExtraHTTPHeaders({ 'accept-language': 'de' });
  const inGerman = [
    ...['/alerts', '/event-types', '/event-types/usp.selection'],
    ...['/settings/webhooks/new', '/overview?days=30', '/campaigns/1'],
  ];
  for (const path of [...inGerman, `/offers/${await offerWithCodes()}`]) {
    await page.goto(demo.url + base + path);
    await page.locator('[hx-trigger="load"]').waitFor({ state: 'detached' });
    const height = await heightOf();
    if (height > maxHeight) tooLong.push(`${path} in German: ${height}`);
  }
  await page.setExtraHTTPHeaders({});
  expect(tooLong).toEqual([]);
});

test.each([
  ['NATS', 'nats', 'Subject'],
  ['Kafka', 'kafka', 'Topic'],
])('the form for a new endpoint with %s stays short after an error', async (_, kind, field) => {
  await page.setExtraHTTPHeaders({ 'accept-language': 'en' });
  await page.goto(`${demo.url}${base}/settings/webhooks/new`);
  await page.locator(`input[value="${kind}"]`).check();
  await page.locator(`[name^="${kind}."]`).and(page.getByLabel(field)).fill('not / valid');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('alert').waitFor();
  expect(await heightOf()).toBeLessThanOrEqual(maxHeight);
  await page.setExtraHTTPHeaders({});
});

test('a delivery with many failed attempts has a short page, which shows all of them on request', async () => {
  const { rows } = await demo.t.pool.query<{ id: string }>(
    `insert into delivery_attempts (
      day, delivery_id, generation, publisher_id, endpoint_id, started_at, finished_at, outcome, status_code,
      error_class, total_ms, request
    )
    select day, id, 2 + n, publisher_id, endpoint_id, created_at + n * interval '1 min',
      created_at + n * interval '1 min', 'retry', 500, 'status', 20,
      '{"method": "POST", "url": "https://shop.example/hook", "headers": {}}'
    from (select * from deliveries order by id limit 1) as delivery cross join generate_series(1, 11) as n
    returning delivery_id as id`,
  );
  await page.goto(`${demo.url}${base}/deliveries/${rows[0]?.id}`);
  expect(await heightOf()).toBeLessThanOrEqual(maxHeight);
  const visible = () => page.locator('.timeline li').filter({ visible: true }).count();
  const latest = await visible();
  await page.getByText('earlier attempts').click();
  expect([latest, (await visible()) >= 12]).toEqual([3, true]);
});

test('tabs are scrolled to the open page, and the buttons of a row stay within its block', async () => {
  await page.goto(`${demo.url}${base}/settings/webhooks/all`);
  const isInside = (inner: { x: number; width: number } | null): boolean =>
    inner !== null && inner.x >= 0 && inner.x + inner.width <= 390;
  expect(isInside(await page.locator('.tabs [aria-current]').boundingBox())).toBe(true);
  await page.setExtraHTTPHeaders({ 'accept-language': 'de' });
  await signInAs(demo.t, 'analyst', demo.t.publisher.id);
  await page.goto(`${demo.url}${base}/settings/users`);
  const buttons = await page.locator('.row-actions .button').all();
  expect(buttons.length).toBeGreaterThan(2);
  for (const button of buttons) expect(isInside(await button.boundingBox())).toBe(true);
  await page.setExtraHTTPHeaders({});
});

test('each row of a list is a block whose cells have the labels of their columns', async () => {
  await page.goto(`${demo.url}${base}/offers`);
  const row = page.locator('main tbody tr').first();
  const name = await row.locator('td').nth(1).boundingBox();
  const campaign = row.locator('[data-label="Campaign"]');
  const below = await campaign.boundingBox();
  expect(below?.y ?? 0).toBeGreaterThanOrEqual((name?.y ?? 0) + (name?.height ?? 0));
  expect(await campaign.evaluate((cell: Element) => getComputedStyle(cell, '::before').content)).toBe('"Campaign: "');
  expect(await row.getByRole('button', { name: 'Pause' }).isVisible()).toBe(true);
});

test('actions for selected rows appear with the first selection', async () => {
  await page.goto(`${demo.url}${base}/campaigns`);
  const pause = page.locator('form.bulk').getByRole('button', { name: 'Pause' });
  expect(await pause.isVisible()).toBe(false);
  await page.locator('main tbody input[name="key"]').first().check();
  expect(await pause.isVisible()).toBe(true);
});

test('the hint of a choice is inside its box and describes it, and a click on it selects the choice', async () => {
  await page.goto(`${demo.url}${base}/settings/webhooks/new`);
  const choice = page.locator('.choice').filter({ hasText: 'Amazon SQS' });
  const [box, hint] = [await choice.boundingBox(), await choice.locator('.hint').first().boundingBox()];
  expect((hint?.y ?? 0) + (hint?.height ?? 0)).toBeLessThan((box?.y ?? 0) + (box?.height ?? 0));
  const input = choice.getByRole('radio');
  expect(await input.getAttribute('aria-describedby')).toBe(await choice.locator('.hint').first().getAttribute('id'));
  // The label covers the box.
  await choice.locator('.hint').first().click({ force: true });
  await expect.poll(() => input.isChecked()).toBe(true);
});

test('a link to a section of a long guide opens only this section', async () => {
  await page.goto(`${demo.url}/docs/guides/web#browsers`);
  await page.getByRole('heading', { name: 'Browsers' }).waitFor();
  const open = () => page.locator('details.part[open] > summary').allInnerTexts();
  await expect.poll(open).toEqual(['Browsers']);
  await page.getByRole('heading', { name: 'Errors' }).click();
  await expect.poll(open).toEqual(['Errors', 'Browsers']);
});
