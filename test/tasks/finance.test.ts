import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, signInAs } from '../dashboard/support.ts';
import { rollUpAll } from '../reports/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { countEffort } from '../support/effort.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { portOf } from '../support/request.ts';
import { timeLimit } from '../support/time-limit.ts';
import { addPostbackEndpoint, clickOffer, createTimedApp, track } from '../tracking/conversions/support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let browser: Browser;
let base: string;
beforeAll(async () => {
  t = await createTimedApp({ scripts: true });
  base = `http://127.0.0.1:${await portOf(t.app)}`;
  browser = await openBrowser();
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
});
afterAll(async () => {
  await closeContexts(browser);
  await t?.close();
});

/** Returns the text of the file that `start` downloads. */
async function download(page: Page, start: () => Promise<void>): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), start()]);
  return readFile(await file.path(), 'utf8');
}

/** Returns the named columns of each row in a CSV file. */
function columnsOf(csv: string, ...names: string[]): string[][] {
  const rows = parse(csv, { columns: true, bom: true }) as Record<string, string>[];
  return rows.map((row) => names.map((name) => row[name] ?? ''));
}

/** Books a purchase after a click, and voids it if asked. */
async function buy(order: string, payout: string, { voided = false } = {}): Promise<void> {
  const { clickId } = await clickOffer(t);
  await track(t, { click_id: clickId, payout, txn_id: order });
  t.clock.ms += 1;
  if (voided) await track(t, { click_id: clickId, payout, txn_id: order, void: '1' });
}

test(
  'an accountant finds the revenue of a period, follows it to its bookings, and exports both',
  async () => {
    await buy('order-1', '5.25');
    await buy('order-2', '7.10');
    await buy('order-3', '40', { voided: true });
    t.clock.ms += 1000;
    await rollUpAll(t, t.clock.ms);
    const page = await openAs(browser, await signInAs(t, 'analyst'), base, `/dashboard/p/${t.publisher.id}/overview`);
    const effort = await countEffort(page);

    // Page 1: the report by advertiser, with the number of conversions.
    await openFromNavigation(page, 'Reports');
    await page.locator('#range summary').click();
    await page.getByRole('link', { name: 'Today', exact: true }).click();
    await page.waitForURL(/range=today/);
    await page.getByRole('link', { name: 'Advertiser', exact: true }).click();
    await page.waitForURL(/by=advertiser/);
    await page.locator('#metrics summary').click();
    await page.getByLabel('Conversions', { exact: true }).check();
    await page.locator('#metrics').getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL(/conversions/);
    expect(await violations(page)).toEqual([]);
    const report = await download(page, () => page.getByRole('link', { name: 'CSV', exact: true }).click());
    expect(columnsOf(report, 'advertiser', 'conversions', 'revenue', 'currency')).toEqual([
      ['Basilwick Kitchen', '2', '12.35', 'USD'],
      ['Emberlark Coffee', '0', '0', 'USD'],
      ['Tidewander Stays', '0', '0', 'USD'],
    ]);

    // Page 2: the bookings behind the revenue add up to it.
    await page
      .getByRole('row', { name: /^Total/ })
      .getByRole('link', { name: 'US$12.35' })
      .click();
    await page.getByText('Revenue in the report: US$12.35').waitFor();
    expect(await violations(page)).toEqual([]);
    const rows = await download(page, () => page.getByRole('link', { name: 'CSV', exact: true }).click());
    expect(columnsOf(rows, 'kind', 'txn_id', 'revenue', 'currency')).toEqual([
      ['void', 'order-3', '-40', 'USD'],
      ['conversion', 'order-3', '40', 'USD'],
      ['conversion', 'order-2', '7.1', 'USD'],
      ['conversion', 'order-1', '5.25', 'USD'],
    ]);

    // Page 3: why an order was booked and then voided.
    await page.getByRole('row').filter({ hasText: 'voided' }).getByRole('link').first().click();
    await page.getByText('Conversion voided').waitFor();
    expect(await page.getByText('Transaction order-3').count()).toBe(4);
    expect(await violations(page)).toEqual([]);
    expect(effort()).toEqual({ pages: 3, filled: 1, visible: 1 });
  },
  timeLimit(120_000),
);
