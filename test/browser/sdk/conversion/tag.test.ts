import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeContexts, newContext, openBrowser } from '../../../support/browser.ts';
import { freePort } from '../../../support/server-process.ts';
import { bookings, type Clicked, clickOffer, createTimedApp } from '../../../tracking/conversions/support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let browser: Browser;
let shop: Server;
let shopUrl: string;
let serviceUrl: string;
/** Directive, in addition to the one for scripts, that allows the shop's pages to reach the service. */
let allowedDirective = 'connect-src';

beforeAll(async () => {
  const port = await freePort();
  serviceUrl = `http://127.0.0.1:${port}`;
  t = await createTimedApp({ scripts: true, config: { publicUrl: 'http://perks.test' } });
  await t.app.listen({ port, host: '127.0.0.1' });
  shop = createServer((request, response) => {
    const attributes =
      new URL(request.url ?? '', 'http://shop').pathname === '/thanks'
        ? 'data-event="purchase" data-payout="49.90" data-currency="USD" data-txn-id="o-1"'
        : '';
    response
      .writeHead(200, {
        'content-type': 'text/html',
        'content-security-policy': `default-src 'none'; script-src ${serviceUrl}; ${allowedDirective} ${serviceUrl}`,
      })
      .end(
        request.url?.startsWith('/no-tag')
          ? '<!doctype html><title>Shop</title>'
          : `<!doctype html><title>Shop</title>
<script src="${serviceUrl}/sdk/conversion.js" ${attributes} async></script>`,
      );
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => shop.once('listening', resolve));
  shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  shop?.close();
  await t?.close();
});

async function openLanding(click: Clicked, before = ''): Promise<{ context: BrowserContext; page: Page }> {
  const context = await newContext(browser);
  if (before !== '') await context.addInitScript(before);
  const page = await context.newPage();
  await page.goto(`${shopUrl}/landing?click_id=${click.clickId}&utm=x`);
  await page.waitForFunction('window.PerkwireConversion !== undefined');
  return { context, page };
}

const booked = (click: Clicked) => expect.poll(() => bookings(t, click.sessionId));

test('stores the click of the landing page and reports a later purchase, under a strict policy', async () => {
  const click = await clickOffer(t);
  const { context, page } = await openLanding(click);
  const problems: string[] = [];
  page.on('console', (message) => problems.push(message.text()));
  await page.goto(`${shopUrl}/cart`);
  await page.goto(`${shopUrl}/thanks`);
  await booked(click).toMatchObject([{ event: 'purchase', payout_micros: '49900000', currency: 'USD', txn_id: 'o-1' }]);
  await page.reload();
  expect(await page.evaluate(`PerkwireConversion.track({ event: 'signup', payout: 2 })`)).toBe(true);
  await booked(click).toHaveLength(2);
  expect(problems.filter((text) => /Security Policy/.test(text))).toEqual([]);
  await context.close();
});

test('reports by an image if the policy allows only images', async () => {
  const click = await clickOffer(t);
  allowedDirective = 'img-src';
  const { context, page } = await openLanding(click);
  expect(await page.evaluate(`PerkwireConversion.track({ event: 'by-image', payout: '1.25' })`)).toBe(true);
  await booked(click).toMatchObject([{ event: 'by-image', payout_micros: '1250000' }]);
  allowedDirective = 'connect-src';
  await context.close();
});

test('stores the click for the tab only if Global Privacy Control is on', async () => {
  const click = await clickOffer(t);
  const gpc = "Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })";
  const { context, page } = await openLanding(click, gpc);
  expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
  const other = await context.newPage();
  await other.goto(`${shopUrl}/cart`);
  await other.waitForFunction('window.PerkwireConversion !== undefined');
  expect(await other.evaluate(`PerkwireConversion.track({ event: 'x' })`)).toBe(false);
  await page.goto(`${shopUrl}/cart`);
  await page.waitForFunction('window.PerkwireConversion !== undefined');
  expect(await page.evaluate(`PerkwireConversion.track({ event: 'same-tab' })`)).toBe(true);
  await context.close();
});

test('omnisdk.js stores the click when the landing page requests it, and reports later', async () => {
  const click = await clickOffer(t);
  const context = await newContext(browser);
  const page = await context.newPage();
  const open = async (query: string): Promise<void> => {
    await page.goto(`${shopUrl}/no-tag${query}`);
    await page.addScriptTag({ url: `${serviceUrl}/omnisdk.js?accountId=0123456789abcdef` });
  };
  await open(`?adpx_click_id=${click.clickId}`);
  expect(await page.evaluate('localStorage.length')).toBe(0);
  expect(await page.evaluate('handleAdpxClickId()')).toBe(true);
  await open('');
  expect(await page.evaluate('handleAdpxClickId()')).toBe(false);
  expect(await page.evaluate(`PerkwireConversion.track({ event: 'lead', payout: 3 })`)).toBe(true);
  await booked(click).toMatchObject([{ event: 'lead', payout_micros: '3000000' }]);
  await open('?adpx_click_id=%3Cscript%3E');
  expect(await page.evaluate('handleAdpxClickId()')).toBe(false);
  await context.close();
});

test('sends nothing without a click, and is small and cacheable', async () => {
  const context = await newContext(browser);
  const page = await context.newPage();
  const sent: string[] = [];
  page.on('request', (request) => sent.push(new URL(request.url()).pathname));
  await page.goto(`${shopUrl}/thanks?click_id=javascript:alert(1)`);
  await page.waitForFunction('window.PerkwireConversion !== undefined');
  expect(await page.evaluate(`PerkwireConversion.track({ event: 'x' })`)).toBe(false);
  expect(sent.filter((path) => path.startsWith('/track'))).toEqual([]);
  await context.close();
  const script = await t.app.inject({ method: 'GET', url: '/sdk/conversion.js' });
  expect([script.statusCode, script.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
  expect(script.rawPayload.length).toBeLessThan(3000);
  expect((await t.app.inject({ method: 'GET', url: String(script.headers['content-location']) })).statusCode).toBe(200);
  expect(
    (
      await t.app.inject({
        method: 'GET',
        url: '/sdk/conversion.js',
        headers: { 'if-none-match': String(script.headers.etag) },
      })
    ).statusCode,
  ).toBe(304);
});
