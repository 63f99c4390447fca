import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, signInAs } from '../dashboard/support.ts';
import { type DemoServer, startDemoServer } from '../demo/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { countEffort } from '../support/effort.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { timeLimit } from '../support/time-limit.ts';

let demo: DemoServer;
let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  demo = await startDemoServer('erasure');
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

const person = 'person who writes to us';

const countSessions = async (): Promise<number> =>
  (await demo.t.pool.query('select from sessions where pub_user_id = $1', [person])).rowCount ?? 0;

/** Shows offers to the person, which stores a session. */
async function showOffers(): Promise<void> {
  const url = `/native/v4/offers.json?api_key=${demo.t.publisher.key}`;
  const answer = await demo.app.inject({
    method: 'POST',
    url,
    payload: { placement: 'checkout', pub_user_id: person },
  });
  expect(answer.statusCode).toBe(200);
}

/** Reloads the page after the erasure has looked for late data again, a minute later. Returns the finished requests. */
async function finishedRequests(page: Page): Promise<number> {
  await demo.t.pool.query("update erasures set swept_at = swept_at - interval '1 min', due_at = now()");
  await page.reload();
  return page.getByRole('row').filter({ hasText: 'Done' }).count();
}

test(
  'an admin answers a request for information and erasure: finds the person, exports the data and erases it',
  async () => {
    await showOffers();
    const admin = await signInAs(demo.t, 'admin');
    const page = await openAs(browser, admin, demo.url, `/dashboard/p/${demo.t.publisher.id}/overview`);
    const effort = await countEffort(page);
    const requestedUrls: string[] = [];
    page.on('request', (request) => requestedUrls.push(request.url()));

    // Pages 1 and 2: the settings, and what is stored about the person.
    await openFromNavigation(page, 'Privacy requests');
    await page.getByLabel('Identifier', { exact: true }).fill(person);
    await page.getByRole('button', { name: 'Find person' }).click();
    await page.getByRole('row', { name: 'Sessions 1 Personal data is removed' }).waitFor();
    expect(await violations(page)).toEqual([]);

    // The file for the person contains all of it.
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: /JSON/ }).click();
    const file = JSON.parse(await readFile(await (await download).path(), 'utf8'));
    expect(file).toMatchObject({ sessions: [{ pub_user_id: person }] });

    // After a question, the data is erased. The list says how much, and that nothing has arrived since.
    await page.getByRole('button', { name: 'Erase', exact: true }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Erase', exact: true }).click();
    await page.getByRole('status').first().waitFor();
    await expect.poll(countSessions).toBe(0);
    await expect.poll(() => finishedRequests(page), { interval: 300 }).toBeGreaterThan(0);
    await page.getByRole('row').filter({ hasText: 'Done' }).getByText('Sessions: 1').first().waitFor();

    // The person's name is in no URL, in no storage of the browser and not in the audit log.
    expect(requestedUrls.join('\n')).not.toMatch(/person/);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(person);
    const { rows } = await demo.t.pool.query(
      "select resource, actor_kind, changes from audit_log where resource in ('erasures', 'exports') order by id desc",
    );
    expect(rows).toMatchObject([
      { resource: 'erasures', actor_kind: 'user' },
      { resource: 'exports', actor_kind: 'user' },
    ]);
    expect(JSON.stringify(rows)).not.toContain(person);
    expect(effort()).toEqual({ pages: 2, filled: 1, visible: 2 });
  },
  timeLimit(120_000),
);
