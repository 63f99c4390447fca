import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, serveAdvertisers, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

/** Script that records the calls that the web view's app receives. */
const app = `window.told = [];
  window.Android = { dialogDismiss: (...given) => void told.push(['dialogDismiss', ...given]) };`;

async function openEmbed(query: string, answer?: object) {
  const context = await stage.newContext();
  if (answer !== undefined)
    await context.route('**/native/v4/offers.json*', (route) => route.fulfill({ json: answer }));
  await serveAdvertisers(context);
  await context.addInitScript(app);
  const page = await context.newPage();
  const fetched = page.waitForRequest('**/native/v4/offers.json*');
  await page.goto(`${stage.url}${query}`);
  return { page, body: (await fetched).postDataJSON(), told: () => page.evaluate('told') };
}

describe('embed.html', () => {
  test.each(['/embed.html', '/sdk/embed.html'])("%s shows an account's offers for the user in its URL", async (at) => {
    const user = 'email=&firstname=Ann&amount=&placement=order-status&country=US&__proto__=x&template=%3Cb%3E';
    const query = `?accountId=${stage.t.publisher.sdkId}&${user}&language=de&close=1`;
    const { page, body, told: readCalls } = await openEmbed(`${at}${query}`);
    await page.locator('dialog .btn.no').waitFor();
    expect(body).toEqual({ placement: 'order-status', firstname: 'Ann', country: 'US', template: '<b>' });
    expect(await page.locator('dialog').getAttribute('lang')).toBe('de');
    expect(await readCalls()).toEqual([]);
    await page.locator('dialog .close').click();
    await expect.poll(readCalls).toEqual([['dialogDismiss']]);
  });

  test('closes the dialog of the app if there are no offers', async () => {
    const { told: readCalls } = await openEmbed(`/embed.html?accountId=${stage.t.publisher.sdkId}`, {
      data: { offers: [] },
    });
    await expect.poll(readCalls).toEqual([['dialogDismiss']]);
  });

  test('accepts only text from its URL, and no template or service', async () => {
    const evil = encodeURIComponent('<img src=x onerror="window.hacked=1">');
    const query = `template=${evil}&render=${evil}&apiUrl=https://evil.example&title=${evil}`;
    const { page } = await openEmbed(`/embed.html?accountId=${stage.t.publisher.sdkId}&${query}`);
    await page.locator('dialog .btn.no, dialog .tile').first().waitFor();
    expect(await page.evaluate('"hacked" in window')).toBe(false);
  });
});

describe('launcher.native.min.js with launcher.impl.js', () => {
  const shop = (impl: string, config = '') => `<!doctype html><title>Shop</title><body>
<button id="load" onclick="Adpx.load()">Load</button><button id="show" onclick="Adpx.show()">Show</button>
<script>window.seen = []; window.AdpxConfig = { accountId: '${stage.t.publisher.sdkId}', ${config}
  callback: (event, payload) => seen.push({ event, payload }) };
window.AdpxUser = { placement: 'order-status', pub_user_id: 'native-${++users}' };</script>
<script src="%%HOST%%${impl}"></script><script src="%%HOST%%/launcher.native.min.js"></script></body>`;

  test.each(['/launcher.impl.js', '/sdk/launcher.impl.js'])(
    '%s draws its template below the page buttons when the page calls show()',
    async (impl) => {
      const { page, until, names } = await stage.open({ document: shop(impl) });
      await until('ads_found');
      await page.locator('#load').click();
      expect(await names()).toEqual(['ads_found']);
      expect(await page.locator('#adpx_box > *').count()).toBe(0);
      await page.locator('#show').click();
      await until('ad_shown');
      const headline = page.locator('#adpx_box .adpx_headline');
      const first = await headline.textContent();
      expect(first).not.toBe('');
      await page.locator('#show').click();
      expect(await until('ad_shown', 2)).toEqual({ current: 2, total: 3 });
      expect(await headline.textContent()).not.toBe(first);
      await page.locator('.adpx_cta-no').click();
      await until('ad_not_taken');
      await page.locator('.adpx_close-icon').click();
      await until('closed_ads');
      await page.locator('#load').click();
      expect(await names()).not.toContain('error');
    },
  );

  test('draws its template immediately if the page configures autoShow', async () => {
    const { page, until } = await stage.open({ document: shop('/launcher.impl.js', 'autoShow: true,') });
    await until('ad_shown');
    expect(await page.locator('dialog').count()).toBe(0);
  });

  test("keeps the page's own element, template and render function", async () => {
    const own = `targetElement: 'mine', template: '<b class="mine"></b>', render: (data) => {
      document.querySelector('.mine').textContent = data.title; },`;
    const document = shop('/launcher.impl.js', own).replace('<body>', '<body><div id="mine"></div>');
    const { page, until } = await stage.open({ document });
    await until('ads_found');
    await page.locator('#show').click();
    await until('ad_shown');
    expect(await page.locator('#mine .mine').textContent()).not.toBe('');
    expect(await page.locator('#adpx_box').count()).toBe(0);
  });
});
