import { existsSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { closeContexts, newContext, openBrowser } from '../support/browser.ts';
import { type DemoServer, startDemoServer } from './support.ts';

let demo: DemoServer;
let browser: Browser;
beforeAll(async () => {
  demo = await startDemoServer();
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

async function open(path: string, options: BrowserContextOptions = {}): Promise<{ page: Page; problems: string[] }> {
  const context = await newContext(browser, { viewport: { width: 1360, height: 1100 }, ...options });
  onTestFinished(() => context.close());
  await context.route(/\.example\//, (route) =>
    route.fulfill({ status: 200, contentType: 'text/html', body: 'advertiser' }),
  );
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (err) => problems.push(String(err)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(demo.url + path);
  return { page, problems };
}

const event = (page: Page, name: string) => page.locator('#events li').filter({ hasText: name });

// UPDATE_IMAGES=1 recreates the image in the documentation.
test('a user sees the unit on the page, selects a perk and confirms it, and the verified webhook appears', async () => {
  const { page, problems } = await open('/demo');
  await page.getByRole('checkbox').nth(1).check();
  await expect.poll(() => page.locator('#beacons li').count()).toBe(3);
  await page.getByRole('button', { name: 'Confirm my perks' }).click();
  await page
    .locator('#webhooks li')
    .filter({ hasText: '1 selected' })
    .filter({ hasText: 'signature verified' })
    .waitFor();
  expect(await page.getByRole('button', { name: 'Perks confirmed' }).isDisabled()).toBe(true);
  expect(problems).toEqual([]);
  const path = 'docs/images/demo.png';
  await page.mouse.move(0, 0);
  await page.evaluate('document.activeElement.blur()');
  await page.screenshot(existsSync(path) && process.env.UPDATE_IMAGES === undefined ? {} : { path });
});

test('every box is checked with all perks preselected, on the server too', async () => {
  const { page } = await open('/demo?usp=all&dev=on');
  await expect.poll(() => page.getByRole('checkbox', { checked: true }).count()).toBe(3);
  await page.getByRole('button', { name: 'Confirm my perks' }).click();
  await page.locator('#webhooks li').filter({ hasText: '3 selected' }).waitFor();
});

test.each(['sdk', 'api'])(
  'prefetch by %s fetches offers in the basket and shows them after the order without another call',
  async (prefetch) => {
    const { page, problems } = await open(`/demo?prefetch=${prefetch}&place=modal&unit=single&step=basket&dev=on`);
    await event(page, prefetch === 'sdk' ? 'ads_found' : 'response stored').waitFor();
    const calls: string[] = [];
    page.on('request', (request) => calls.push(new URL(request.url()).pathname));
    await page.getByRole('link', { name: 'Place order' }).click();
    await page.getByRole('dialog').waitFor();
    await event(page, 'ad_shown').waitFor();
    expect(calls.filter((path) => path === '/native/v4/offers.json')).toEqual([]);
    expect(problems).toEqual([]);
  },
);

test('the panel lists events from before the SDK is loaded', async () => {
  const context = await newContext(browser);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const fetched = page.waitForResponse('**/native/v4/offers.json?*');
  await page.route('**/sdk/launcher.js', async (route) => {
    await (await fetched).finished();
    await route.continue();
  });
  await page.goto(`${demo.url}/demo?prefetch=api&step=basket`);
  await event(page, 'response stored').waitFor();
});

test.each(['off', 'sdk', 'api'])(
  'the phone app with prefetch %s shows offers, opens links outside and confirms perks',
  async (prefetch) => {
    const { page, problems } = await open(`/demo?on=phone&prefetch=${prefetch}`);
    const phone = page.frameLocator('#phone');
    if (prefetch !== 'off') await event(page, prefetch === 'sdk' ? 'ads_found' : 'response stored').waitFor();
    await phone.getByRole('button', { name: 'Place order' }).click();
    const view = phone.frameLocator('iframe.view');
    await view.getByRole('checkbox').first().check();
    await view.locator('.minor').first().click();
    await phone.getByRole('dialog', { name: 'External browser' }).getByText(demo.url).waitFor();
    await phone.getByRole('button', { name: 'Back to the app' }).click();
    await phone.getByRole('button', { name: 'Confirm my perks' }).click();
    await phone.getByRole('button', { name: 'Perks confirmed' }).waitFor();
    await event(page, 'usp_confirmed').waitFor();
    expect(page.context().pages()).toHaveLength(1);
    expect(problems).toEqual([]);
  },
);

test('the shop fits a 360 pixel screen, and its options work by keyboard', async () => {
  const { page } = await open('/demo', { viewport: { width: 360, height: 740 } });
  await page.getByRole('checkbox').first().waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await page.getByRole('radio', { name: 'Multi' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.waitForURL(/unit=single/);
  await page.locator('#perks').getByRole('link').first().waitFor();
});

test.each([
  ['a read', 'campaigns#listCampaigns', '200'],
  ['a write', 'advertisers#createAdvertiser', '201'],
])('the API reference sends %s example unchanged, with the key filled in', async (_name, address, status) => {
  const { page, problems } = await open(`/docs/api/${address}`);
  const part = page.locator(`#${address.split('#')[1]} .try`);
  await part.getByText('Run this call').click();
  if (status === '201') await part.getByLabel('Allow calls that change data in the demo').check();
  await part.getByRole('button', { name: 'Run' }).click();
  await part.getByText(new RegExp(`^${status} `)).waitFor();
  expect(problems).toEqual([]);
});

test('a search finds a word in all guides and leads to its section', async () => {
  const { page, problems } = await open('/docs/guides');
  await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('verifying signature');
  await page.getByRole('link', { name: /^Verifying\s*Receive webhooks/ }).click();
  await page.waitForURL(/\/docs\/guides\/receiving-webhooks#verifying$/);
  expect(problems).toEqual([]);
});
