import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { saveEndpoint } from '../../src/webhooks/endpoint-changes.ts';
import { openAs, signInAs } from '../dashboard/support.ts';
import { uspCalls } from '../perks/usp/calls.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { countEffort } from '../support/effort.ts';
import { startTestJobs } from '../support/jobs.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { freePort } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { type Hook, startHook, startTestDispatcher } from '../webhooks/dispatcher/support.ts';

let t: TestApp;
let server: MailServer;
let browser: Browser;
let base: string;
let hook: Hook;
let jobs: Awaited<ReturnType<typeof startTestJobs>>;
let dispatcher: Awaited<ReturnType<typeof startTestDispatcher>>;
beforeAll(async () => {
  server = await startMailServer();
  const { mail } = server;
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  t = await createTestApp({ config: { mail, publicUrl: base }, scripts: true });
  await t.app.listen({ port, host: '127.0.0.1' });
  browser = await openBrowser();
  hook = await startHook((response, { headers }) => {
    response.statusCode = headers['x-token'] === 'new' ? 200 : 401;
    response.end(response.statusCode === 200 ? '' : 'unknown token');
  });
  await saveEndpoint(t.pool, t.deps.secretBox, {
    publisherId: t.publisher.id,
    event: 'usp.selection',
    url: hook.url,
    method: 'POST',
    enabled: true,
    nowMs: t.deps.now(),
  });
  await t.deps.catalog.refresh();
  jobs = await startTestJobs(
    t,
    'failing endpoints',
    'operational events',
    'alert messages',
    'redelivery',
    'endpoint activity',
    'delivery counts',
  );
  dispatcher = await startTestDispatcher(t);
});
afterAll(async () => {
  await closeContexts(browser);
  await dispatcher?.stop();
  await jobs?.stop();
  await t?.close();
  await hook?.close();
  await server?.close();
});

/** Returns the users whose perks the publisher's server has accepted. */
const received = (): string[] =>
  hook.requests
    .filter(({ headers }) => headers['x-token'] === 'new')
    .map(({ body }) => JSON.parse(body.toString()).body.pub_user_id as string)
    .filter((user) => ['ada', 'bo', 'cy'].includes(user))
    .sort();

/** Confirms the perks that a user selected, which sends a webhook. */
async function wrap(user: string): Promise<void> {
  const usp = uspCalls(t);
  const { id, offers } = await usp.fetch({ pub_user_id: user });
  const body = { action: 'wrap', pub_user_id: user, selected: [offers[0]?.campaign_id] };
  expect((await usp.call('POST', `session/${id}.json`, { body })).status).toBe(200);
}

test(
  'an engineer on call is woken by an e-mail, finds the cause, fixes it, and sends the waiting webhooks',
  async () => {
    const admin = await signInAs(t, 'admin');
    for (const user of ['ada', 'bo', 'cy']) await wrap(user);
    await expect.poll(() => server.mails.length, { timeout: timeLimit(30_000) }).toBe(1);
    const { text = '' } = server.mails[0] ?? {};
    expect(text).toContain('The server last responded with status 401: “unknown token”');
    const fixUrl = /Check the headers:\n(\S+)/.exec(text)?.[1] ?? '';

    // Page 1: the link in the e-mail leads to the field that fixes the problem.
    const page = await openAs(browser, admin, base, fixUrl.slice(base.length));
    const effort = await countEffort(page);
    await page.locator('#content').getByText('failing', { exact: true }).waitFor();
    await page.getByText('3 deliveries').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Headers', { exact: true }).fill('X-Token: new');
    await page.getByRole('button', { name: 'Save', exact: true }).first().click();
    await page.getByRole('status').filter({ hasText: 'saved' }).waitFor();
    await page.getByRole('button', { name: 'Test endpoint' }).click();
    await page.getByText('Test delivered.').waitFor();

    // Page 2: what has waited is sent now, with its progress.
    await page.getByRole('button', { name: 'Retry now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Retry now' }).click();
    await page.getByText('3 of 3').waitFor();
    expect(await violations(page)).toEqual([]);

    // Page 3: all of it has arrived.
    await page.getByRole('link', { name: 'Back to deliveries' }).click();
    await expect
      .poll(async () => {
        await page.reload();
        return page.getByRole('row').filter({ hasText: 'delivered' }).count();
      })
      .toBe(3);
    expect(received()).toEqual(['ada', 'bo', 'cy']);
    await openFromNavigation(page, 'Alerts');
    await page.getByText('Webhook endpoint recovered').first().waitFor();
    // The page that the e-mail links to is open when the count starts.
    expect(effort()).toEqual({ pages: 4, filled: 1, visible: 5 });
  },
  timeLimit(120_000),
);
