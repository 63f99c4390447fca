import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, signInAs } from '../dashboard/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { countEffort } from '../support/effort.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { portOf } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';

let t: TestApp;
let browser: Browser;
beforeAll(async () => {
  t = await createTestApp({ scripts: true });
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await t?.close();
});

/** Opens a section of the campaign for editing. */
const edit = (page: Page, section: string) => page.getByRole('link', { name: `Edit: ${section}` }).click();

async function save(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save', exact: true }).first().click();
  await page.getByRole('status').filter({ hasText: 'saved' }).waitFor();
}

/** Adds a value to a field with search and selection. */
async function pick(page: Page, label: string, text: string, option: string | RegExp): Promise<void> {
  await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByRole('option', { name: option }).first().click();
}

/** Selects the hours of a grid, by a drag from the first to the last one. */
async function drag(page: Page, from: string, to: string): Promise<void> {
  await page.getByLabel(from, { exact: true }).hover();
  await page.mouse.down();
  await page.getByLabel(to, { exact: true }).hover();
  await page.mouse.up();
}

/** Serves the campaign at any time of the day, and none of the others. */
async function serveOnlyThis(): Promise<void> {
  await t.pool.query("update campaigns set rules = rules - 'schedule', active = name = 'Spring'");
  await t.deps.catalog.refresh();
}

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 ' +
  'Mobile/15E148 Safari/604.1';

/** Returns the offers that a user in this country is shown on a phone. */
async function titlesFor(country: string): Promise<string[]> {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v2/offers.json?api_key=${t.publisher.key}`,
    headers: { 'user-agent': phone },
    payload: { placement: 'checkout', country },
  });
  return answer.json().data.offers.map(({ title }: { title: string }) => title);
}

test(
  'a marketer creates a campaign with its offer, targets it, limits its budget, pauses it and resumes it',
  async () => {
    const marketer = await signInAs(t, 'manager');
    const base = `http://127.0.0.1:${await portOf(t.app)}`;
    const page = await openAs(browser, marketer, base, `/dashboard/p/${t.publisher.id}/overview`);
    const effort = await countEffort(page);

    // Pages 1 and 2: the campaign and its first offer, with a preview while it is written.
    await openFromNavigation(page, 'Campaigns');
    await page.getByRole('link', { name: 'Add campaign' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Spring');
    await page.getByLabel('Advertiser', { exact: true }).selectOption({ index: 1 });
    await page.getByLabel('Landing page', { exact: true }).fill('https://spring.example/?c={click_id}');
    await page.getByLabel('Amount', { exact: true }).fill('900');
    await page.getByLabel('Headline', { exact: true }).fill('Tulips for half the price');
    await page.frameLocator('#preview iframe').getByText('Tulips for half the price').first().waitFor();
    expect(await violations(page)).toEqual([]);
    await save(page);

    // Page 3: its sections are edited one at a time. One sentence says who sees the campaign.
    await page.getByText('Shown to all users.').waitFor();
    await edit(page, 'Targeting');
    await pick(page, 'Countries', 'Germ', 'Germany');
    await pick(page, 'Devices', 'mob', 'mobile');
    await save(page);
    await page.getByText('Shown to users in Germany on mobile.').waitFor();
    await edit(page, 'Schedule');
    await drag(page, 'Monday 09:00', 'Friday 16:00');
    await save(page);
    await page.getByText('Shown to users in Germany on mobile, on weekdays 09:00–17:00.').waitFor();
    await edit(page, 'Budget and goal');
    await page.getByRole('button', { name: 'Add budget or total cap' }).click();
    await page.getByLabel(/Maximum$/).fill('5000');
    await page.getByRole('group', { name: 'Budget or total cap' }).getByLabel('Metric').selectOption('budget');
    await save(page);
    expect(await violations(page)).toEqual([]);

    // Only users in Germany see it, and only while it is not paused.
    await serveOnlyThis();
    expect(await titlesFor('DE')).toContain('Tulips for half the price');
    expect(await titlesFor('FR')).not.toContain('Tulips for half the price');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('status').filter({ hasText: 'paused' }).waitFor();
    expect(await titlesFor('DE')).not.toContain('Tulips for half the price');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('status').filter({ hasText: 'resumed' }).waitFor();
    expect(await titlesFor('DE')).toContain('Tulips for half the price');

    expect(effort()).toEqual({ pages: 3, filled: 10, visible: 28 });
  },
  timeLimit(120_000),
);
