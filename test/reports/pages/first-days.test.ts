import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs, dayOf } from '../../../src/platform/lib/time.ts';
import { openAs, signInAs } from '../../dashboard/support.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';
import { portOf } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addSums } from '../support.ts';

let t: TestApp;
let browser: Browser;
const nowMs = Date.parse('2026-11-30T12:00:00Z');
beforeAll(async () => {
  t = await createTestApp({ scripts: true, now: () => nowMs });
  browser = await openBrowser();
  await t.pool.query("select create_report_partitions('2026-10-01', '2026-11-30')");
  await addSums(
    t,
    Array.from({ length: 10 }, (_, back) => ({
      at: new Date(nowMs - (back + 1) * dayMs),
      placement: 'checkout',
      offerId: 1,
      sessions: 100,
      impressions: 100,
      clicks: 10,
    })),
  );
});
afterAll(async () => {
  await closeContexts(browser);
  await t?.close();
});

const reports = (query: string): string => `/dashboard/p/${t.publisher.id}/reports?${query}`;

test('a report says if its comparison period began before the first activity', async () => {
  const analyst = await signInAs(t, 'analyst');
  const bodyOf = async (query: string): Promise<string> => (await analyst.get(reports(query))).body;
  const first = dayOf(nowMs - 10 * dayMs);
  expect(first).toBe('2026-11-20');
  expect(await bodyOf('range=7d')).toContain('Data begins on 20 Nov 2026, during the comparison period.');
  expect(await bodyOf('range=7d&compare=none')).not.toContain('Data begins on');
  expect(await bodyOf('from=2026-11-28&to=2026-11-29')).not.toContain('Data begins on');
  expect(await bodyOf('range=30d')).not.toContain('Data begins on'); // nothing to compare with
});

test('a printed report has its figures, and no navigation or buttons', async () => {
  const analyst = await signInAs(t, 'analyst');
  const page = await openAs(
    browser,
    analyst,
    `http://127.0.0.1:${await portOf(t.app)}`,
    reports('range=7d&metric=sessions'),
  );
  await page.locator('.chart canvas').first().waitFor();
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 720, height: 1000 });
  expect(await page.getByRole('heading', { name: 'Reports' }).isVisible()).toBe(true);
  expect(await page.locator('.chart canvas').first().isVisible()).toBe(true);
  for (const hidden of ['.sidebar', '.topbar', 'main button'])
    expect(await page.locator(hidden).filter({ visible: true }).count(), hidden).toBe(0);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
});
