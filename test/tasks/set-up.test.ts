import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifyWebhook } from '../../packages/client/src/webhook.ts';
import { openAs, signInAs } from '../dashboard/support.ts';
import { rollUpAll } from '../reports/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { countEffort } from '../support/effort.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { freePort } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { call, type ShownOffer } from '../tracking/journey.ts';
import { type Hook, startHook, startTestDispatcher } from '../webhooks/dispatcher/support.ts';

let t: TestApp;
let browser: Browser;
let base: string;
let shop: Hook;
let dispatcher: Awaited<ReturnType<typeof startTestDispatcher>>;
beforeAll(async () => {
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  t = await createTestApp({ config: { publicUrl: base }, scripts: true });
  await t.app.listen({ port, host: '127.0.0.1' });
  browser = await openBrowser();
  shop = await startHook();
  dispatcher = await startTestDispatcher(t);
});
afterAll(async () => {
  await closeContexts(browser);
  await dispatcher?.stop();
  await t?.close();
  await shop?.close();
});

/** Opens the page of a step that is still to do, from the list of first steps. */
async function openStep(page: Page, step: string): Promise<void> {
  await openFromNavigation(page, 'Integration');
  await page.locator(`#setup-${step}`).click();
}

async function save(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save', exact: true }).first().click();
}

/** Simulates the visit of a user to the shop: offers are shown, and the user selects and confirms a perk. */
async function visitShop(sdkId: string): Promise<void> {
  const post = async (path: string, payload: object) => {
    const answer = await t.app.inject({ method: 'POST', url: `${path}?api_key=${sdkId}`, payload });
    expect(answer.statusCode, answer.body).toBe(200);
    return answer.json().data as { session_id: string; offers: ShownOffer[] };
  };
  const user = { pub_user_id: 'user-1' };
  const { session_id: id, offers } = await post('/native/v2/offers.json', { placement: 'checkout', ...user });
  const [offer] = offers as [ShownOffer];
  expect((await call(t, offer.pixel)).statusCode).toBe(200);
  await post(`/sdk/v4/usp/${id}/${offer.campaign_id}/select.json`, user);
  await post(`/sdk/v4/usp/session/${id}.json`, { action: 'wrap', ...user });
}

test(
  'an operator sets up a shop from nothing to the first verified webhook by following the first steps',
  async () => {
    const operator = await signInAs(t, 'operator');
    const page = await openAs(browser, operator, base, '/dashboard/operator/publishers');
    const effort = await countEffort(page);

    // Pages 1 and 2: the publisher, with User Selected Perks.
    await page.getByRole('link', { name: 'Add publisher' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Basilwick shop');
    await page.getByLabel('Time zone', { exact: true }).fill('Europe/Berlin');
    await page.getByLabel('User Selected Perks', { exact: true }).check();
    await save(page);
    await page.waitForURL(/\/p\/\d+\/settings\/keys/);
    const id = Number(/\/p\/(\d+)\//.exec(page.url())?.[1]);

    // Pages 3 to 6: the advertiser leads to its campaign, which is created with its first offer.
    await openStep(page, 'advertiser');
    await page.getByLabel('Name', { exact: true }).fill('Bramble');
    await save(page);
    await page.waitForURL(/\/campaigns\/new/);
    await page.getByLabel('Name', { exact: true }).fill('Fresh loaves');
    await page.getByLabel('Landing page', { exact: true }).fill('https://bramble.example/');
    await page.getByLabel('Amount', { exact: true }).fill('1.5');
    await page.getByLabel('Headline', { exact: true }).fill('A loaf for free');
    await save(page);
    await page.waitForURL(/\/campaigns\/\d+$/);

    // Pages 7 to 12: a theme in which users select perks, and the URL that receives the webhooks.
    await openStep(page, 'theme');
    await page.getByLabel('Name', { exact: true }).fill('Checkout');
    await page.getByLabel('User Selected Perks', { exact: true }).check();
    await save(page);
    await page.getByRole('status').filter({ hasText: 'saved' }).waitFor();
    await openStep(page, 'endpoint');
    await page.getByLabel('URL', { exact: true }).fill(shop.url);
    await save(page);
    const secret =
      (
        await page
          .getByText(/^whsec_/)
          .first()
          .textContent()
      )?.trim() ?? '';

    // Page 13: the remaining steps are ticked off as the shop shows offers and receives the webhook.
    await openFromNavigation(page, 'Integration');
    await page.getByText('Create an API key, or use the SDK ID').waitFor();
    expect(await violations(page)).toEqual([]);
    await t.deps.catalog.refresh();
    await visitShop(t.deps.catalog.current().publishers.get(id)?.sdkId ?? '');
    await expect.poll(() => shop.requests.length).toBe(1);
    const { headers = {}, body = Buffer.from('') } = shop.requests[0] ?? {};
    expect(await verifyWebhook({ secret, headers, body })).toMatchObject({ type: 'usp.selection', test: false });
    await rollUpAll(t, t.deps.now());
    await page.getByRole('region', { name: 'First steps' }).waitFor({ state: 'detached' });

    expect(effort()).toEqual({ pages: 13, filled: 11, visible: 25 });
  },
  timeLimit(120_000),
);
