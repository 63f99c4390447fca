import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, signInAs } from '../dashboard/support.ts';
import { messageCalls, partOf } from '../messages/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { countEffort } from '../support/effort.ts';
import { startTestJobs } from '../support/jobs.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { freePort } from '../support/server-process.ts';
import { openMailServer } from '../support/smtp-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';

let t: TestApp;
let smtp: Awaited<ReturnType<typeof openMailServer>>;
let jobs: Awaited<ReturnType<typeof startTestJobs>>;
let browser: Browser;
let base: string;
beforeAll(async () => {
  smtp = await openMailServer();
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  t = await createTestApp({ config: { publicUrl: base, mail: smtp.mail }, scripts: true });
  await t.app.listen({ port, host: '127.0.0.1' });
  jobs = await startTestJobs(t, 'perk messages', 'coupon stock');
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await jobs?.stop();
  await t?.close();
  await smtp?.close();
});

/** Returns the counts on the coupon card of an offer. */
const couponCounts = (page: Page): Promise<Record<string, string>> =>
  page.locator('#coupons dl').evaluate((list) => {
    const textsOf = (tag: string) =>
      [...list.querySelectorAll(tag)].map(({ textContent }) => textContent?.trim() ?? '');
    const values = textsOf('dd');
    return Object.fromEntries(textsOf('dt').map((name, index) => [name, values[index] ?? '']));
  });

test(
  'a marketer uploads coupon codes and turns on messages, and a user gets a code by e-mail',
  async () => {
    const page = await openAs(browser, await signInAs(t, 'admin'), base, `/dashboard/p/${t.publisher.id}/overview`);
    const effort = await countEffort(page);
    const { wrap, untilState } = messageCalls(t);
    // Page 1: the codes of an offer, from a file that is checked before.
    await page.goto(`${base}/dashboard/p/${t.publisher.id}/offers/1`);
    await page.locator('#coupons summary', { hasText: 'Add codes' }).click();
    const buffer = Buffer.from('code\nGOLD-7Q2X-91\nGOLD-K4M8-20\n');
    await page.getByLabel('CSV file').setInputFiles({ name: 'codes.csv', mimeType: 'text/csv', buffer });
    await page.getByRole('button', { name: 'Check codes' }).click();
    await page.locator('#file-check').getByText('GOLD-7Q2X-91').waitFor();
    await page.getByRole('button', { name: 'Add codes' }).click();
    await page.getByText('2 codes added.').waitFor();
    expect(await couponCounts(page)).toEqual({ Available: '2', Assigned: '0', Redeemed: '0', Cancelled: '0' });

    // Page 2: the messages.
    await openFromNavigation(page, 'Perk messages');
    await page.getByLabel('Send perk messages').check();
    await page.getByLabel('Sender name').fill('Basilwick');
    await page.getByRole('button', { name: 'Save', exact: true }).first().click();
    await page.getByRole('status').filter({ hasText: 'saved' }).waitFor();
    const { id } = await wrap('ada', { consent: true, email: 'ada@example.com' });
    await untilState(id, 'sent');
    expect(smtp.received.map(({ to }) => to)).toEqual(['ada@example.com']);
    expect(partOf(smtp.received[0]?.raw ?? '', 'text/plain')).toContain('Your code: GOLD-7Q2X-91');
    await page.reload();
    await page.getByRole('row', { name: /Confirmed perks sent/ }).waitFor();
    expect(await page.content()).not.toContain('ada@example.com');
    expect(await violations(page)).toEqual([]);

    // Page 1 again: one code is left.
    await page.goto(`${base}/dashboard/p/${t.publisher.id}/offers/1`);
    expect(await couponCounts(page)).toMatchObject({
      Available: expect.stringMatching(/^1\b/),
      Assigned: '1',
    });
    expect(await violations(page)).toEqual([]);
    expect(effort()).toEqual({ pages: 4, filled: 3, visible: 12 });
  },
  timeLimit(120_000),
);
