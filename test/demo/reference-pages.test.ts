import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiDocument, operationsById } from '../../src/reference/openapi/example-request.ts';
import { tags } from '../../src/reference/openapi/tags.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, newContext, openBrowser } from '../support/browser.ts';
import { timeLimit } from '../support/time-limit.ts';
import { type DemoServer, startDemoServer } from './support.ts';

let demo: DemoServer;
let browser: Browser;
let document: ApiDocument;
beforeAll(async () => {
  demo = await startDemoServer();
  browser = await openBrowser();
  document = (await (await fetch(`${demo.url}/docs/json`)).json()) as ApiDocument;
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await newContext(browser, options);
  const page = await context.newPage();
  await page.goto(demo.url + path);
  return page;
}

const tagPaths = tags.map(({ name }) => `/docs/api/${name.toLowerCase().replaceAll(' ', '-')}`);

/** Returns the tag pages that the sidebar links to. */
async function tagPages(): Promise<string[]> {
  const text = await (await fetch(`${demo.url}/docs`)).text();
  return [...new Set([...text.matchAll(/href="(\/docs\/api\/[\w-]+)"/g)].map(([, path = '']) => path))];
}

describe('the API reference', () => {
  test('lists all operations in the sidebar of every page, each with its own section', async () => {
    const ids = [...operationsById(document).keys()];
    expect(ids.length).toBeGreaterThan(120);
    const pages = await tagPages();
    const operationIds: string[] = [];
    for (const path of pages) {
      const text = await (await fetch(demo.url + path)).text();
      const linked = [...text.matchAll(/<li><a href="[^"]*#(\w+)"/g)].map(([, id]) => id);
      expect(new Set(linked)).toEqual(new Set(ids));
      operationIds.push(...[...text.matchAll(/<section class="operation" id="(\w+)"/g)].map(([, id = '']) => id));
    }
    expect(operationIds.sort()).toEqual(ids.sort());
  });

  test('finds an operation by description or path, by keyboard only', async () => {
    const page = await open('/docs');
    await page.keyboard.press('/');
    await page.keyboard.type('redeliver');
    await page.getByText(/^\d+ results?$/).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/docs\/api\/deliveries#/);
    await page.keyboard.press('/');
    await page.keyboard.type('/wallet/v1/offers.json');
    await page.getByText(/^\d+ results?$/).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/docs\/api\/wallet#listSavedOffers$/);
  });

  test('shows each call in five languages, and remembers the selected one', async () => {
    const page = await open('/docs/api/offers');
    const samples = page.locator('#fetchOffers .samples');
    expect(await samples.locator('.languages button').allTextContents()).toEqual([
      ...['curl', 'TypeScript', 'Python', 'PHP', 'Go'],
    ]);
    expect(await samples.locator('pre:visible').textContent()).toMatch(/^curl -X POST 'http.*Bearer demo-key/s);
    await samples.getByRole('button', { name: 'Python' }).click();
    expect(await samples.locator('pre:visible').textContent()).toContain("requests.post(\n    'http");
    await page.goto(`${demo.url}/docs/api/keys`);
    expect(await page.locator('#listKeys .samples pre:visible').textContent()).toContain('requests.get(');
  });

  test('sends a call with the key filled in, and shows the response', async () => {
    const page = await open('/docs/api/offers');
    const part = page.locator('#fetchOffers .try');
    await part.getByText('Run this call').click();
    expect(await part.getByLabel('API key').inputValue()).toBe('demo-key');
    await part.getByLabel('Allow calls that change data in the demo').check();
    await part.getByRole('button', { name: 'Run' }).click();
    await part.getByText(/^200 OK, \d+ ms$/).waitFor();
    expect(JSON.parse((await part.locator('pre').textContent()) ?? '').data.count).toBeGreaterThan(0);
    await part.getByLabel('API key').fill('unknown');
    await part.getByRole('button', { name: 'Run' }).click();
    await part.getByText(/^401/).waitFor();
  });

  test('runs reads at once, and calls that change data only after they are allowed', async () => {
    const page = await open('/docs/api/campaigns');
    const written: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') written.push(`${request.method()} ${new URL(request.url()).search}`);
    });
    const partOf = (id: string) => page.locator(`#${id} .try`);
    const runOf = (id: string) => partOf(id).getByRole('button', { name: /^Run/ });
    for (const id of ['listCampaigns', 'createCampaign']) await partOf(id).getByText('Run this call').click();
    await runOf('listCampaigns').click();
    await partOf('listCampaigns')
      .getByText(/^200 OK/)
      .waitFor();
    expect(await runOf('createCampaign').isDisabled()).toBe(true);
    await partOf('createCampaign').getByRole('checkbox').check();
    expect(await runOf('createCampaign').isDisabled()).toBe(false);

    // The choice applies to all calls of the tab. Without it, a file is only checked.
    await page.goto(`${demo.url}/docs/api/audiences`);
    const part = partOf('importAudienceMembers');
    await part.getByText('Run this call').click();
    expect(await part.getByRole('checkbox').isChecked()).toBe(true);
    await part.getByRole('checkbox').uncheck();
    await part.getByRole('button', { name: 'Run without changes' }).click();
    await part.getByText(/^\d{3} /).waitFor();
    expect(written).toEqual(['POST ?dry_run=true']);
  });

  test('requests nothing from other hosts, and never violates its policy', async () => {
    const page = await open('/docs');
    const problems: string[] = [];
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('request', (request) => {
      if (!request.url().startsWith(demo.url) && !request.url().startsWith('data:')) problems.push(request.url());
    });
    for (const path of ['/docs', '/docs/api/offers', '/docs/events', '/docs/guides/start'])
      await page.goto(demo.url + path);
    expect(problems).toEqual([]);
  });
});

describe('accessible pages that fit the window', () => {
  const desktop = { viewport: { width: 1440, height: 900 } };
  const phone = { viewport: { width: 390, height: 844 } };

  test('include the page of every tag', async () => {
    expect(new Set(await tagPages())).toEqual(new Set(tagPaths));
  });

  describe.each<[name: string, options: BrowserContextOptions, paths: string[]]>([
    ['in light mode', desktop, ['/docs', '/docs/events', ...tagPaths]],
    ['in dark mode', { ...desktop, colorScheme: 'dark' }, ['/docs', '/docs/events', '/docs/api/offers']],
    ['on a phone', phone, ['/docs', '/docs/events', '/docs/api/campaigns']],
  ])('%s', (_name, options, paths) => {
    let page: Page;
    beforeAll(async () => {
      page = await open('/docs', options);
    });

    // Long timeout: the largest pages have thousands of elements.
    test.each(paths)('%s', { timeout: timeLimit(240_000) }, async (path) => {
      await page.goto(demo.url + path);
      await page.evaluate(() => {
        for (const part of window.document.querySelectorAll('details')) part.open = true;
      });
      // The sidebar is the same on all pages, so its 120 links are checked only once per layout.
      const without = path === paths[0] || path === '/docs/api/offers' ? [] : ['#list ul'];
      expect(await violations(page, { without })).toEqual([]);
      const wider = await page.evaluate(() => window.document.documentElement.scrollWidth - window.innerWidth);
      expect(wider).toBe(0);
    });
  });
});

test('the documentation search also finds other forms of a word', async () => {
  const page = await open('/docs/guides/start');
  await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('rotate token');
  await page.locator('.found a', { hasText: /^Rotating the token keys/ }).waitFor();
});

test('Enter in the documentation search opens the first result, even before the results are shown', async () => {
  const page = await open('/docs');
  const field = page.getByRole('searchbox', { name: 'Search the documentation' });
  await field.fill('retry a delivery');
  await field.press('Enter');
  await page.waitForURL(/#/);
  await page.goto(`${demo.url}/docs`);
  await field.fill('rotate token');
  const first = page.locator('.found a').first();
  const href = (await first.getAttribute('href')) ?? '';
  await field.press('Enter');
  await page.waitForURL(`**${href}`);
});

test('the event catalogue is a page for people and JSON for programs', async () => {
  const json = (await (await fetch(`${demo.url}/docs/events`)).json()) as { data: { name: string }[] };
  expect(await (await fetch(`${demo.url}/docs/events.json`)).json()).toEqual(json);
  const page = await open('/docs/events');
  for (const { name } of json.data) expect(await page.locator(`[id="${name}"] .fields`).count()).toBeGreaterThan(0);
});

test('the event catalogue fits three screens of a phone, and a link opens its event', async () => {
  const page = await open('/docs/events', { viewport: { width: 390, height: 844 } });
  expect(await page.evaluate(() => window.document.documentElement.scrollHeight)).toBeLessThanOrEqual(3000);
  expect(await page.getByText('JSON Schema of the payload').filter({ visible: true }).count()).toBe(0);
  await page.goto(`${demo.url}/docs/events#draft.waiting`);
  const event = page.locator('[id="draft.waiting"]');
  await event.getByText('JSON Schema of the payload').waitFor();
  await expect.poll(() => event.evaluate((part) => Math.abs(part.getBoundingClientRect().top) < 300)).toBe(true);
});
