import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, serveAdvertisers, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

/** Objects that each kind of app injects into its web view. They record the name of every event they receive. */
const apps = {
  'Android with a listener attached after page load': `
    window.Android = { receiveMessage: (text) => void told.push(JSON.parse(text).name) };
    window.addEventListener('load', () => setTimeout(() =>
      window.parent.addEventListener('message', (event) => Android.receiveMessage(event.data)), 500));`,
  'Flutter with a JavaScript channel': `
    window.Flutter = { postMessage: (text) => void told.push(JSON.parse(text).name) };`,
  'Flutter with a JavaScript handler': `
    window.flutter_inappwebview = { callHandler: async (_name, event) => void told.push(event) };`,
  'iOS with the adspostx handler': `
    const postMessage = (text) => void told.push(JSON.parse(text).name);
    window.webkit = { messageHandlers: { adspostx: { postMessage } } };`,
  'iOS with the adCallback handler': `
    window.webkit = { messageHandlers: { adCallback: { postMessage: ({ name }) => void told.push(name) } } };`,
  'React Native': `
    window.ReactNativeWebView = { postMessage: (text) => void told.push(JSON.parse(text).name) };`,
  'a page that listens for messages': `
    window.addEventListener('message', ({ data }) => void told.push(JSON.parse(data).name));`,
};

async function openEmbed(app: string, answer?: object) {
  const context = await stage.newContext();
  if (answer !== undefined)
    await context.route('**/native/v4/offers.json*', (route) => route.fulfill({ json: answer }));
  await serveAdvertisers(context);
  await context.addInitScript(`window.told = []; ${app}`);
  const page = await context.newPage();
  const query = `accountId=${stage.t.publisher.sdkId}&placement=order-status&close=1&pub_user_id=host-${++users}`;
  await page.goto(`${stage.url}/embed.html?${query}`);
  return { page, told: () => page.evaluate('told') as Promise<string[]> };
}

describe.each(Object.entries(apps))('embed.html on %s', (_name, app) => {
  test('reports each event once', async () => {
    const { page, told: readEvents } = await openEmbed(app);
    await page.locator('dialog .btn.no').waitFor();
    await page.locator('dialog .btn.yes').evaluate((link) => link.setAttribute('target', 'away'));
    await page.locator('dialog .btn.yes').click();
    await page.locator('dialog .close').click();
    await expect.poll(readEvents).toContain('closed_ads');
    const names = await readEvents();
    const once = ['ads_found', 'url_clicked', 'ad_taken', 'closed_ads'];
    expect(names.filter((name) => once.includes(name))).toEqual(once);
    expect(names.filter((name) => name === 'ad_shown')).toHaveLength(2);
  });

  test('reports that there are no offers', async () => {
    const { told: readEvents } = await openEmbed(app, { data: { offers: [] } });
    await expect.poll(readEvents).toEqual(['no_ads_found']);
  });
});

test.each(['embed.html', 'checkout.html', 'prefetch.html'])(
  '%s reports an SDK that its web view cannot run',
  async (name) => {
    const context = await stage.newContext();
    // A script with a syntax error, like a script that is too new for a web view.
    await context.route('**/launcher.min.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: 'a b' }),
    );
    await context.addInitScript(`window.told = []; ${apps['iOS with the adCallback handler']}`);
    const page = await context.newPage();
    await context.route('**/sdk/html/**', async (route) => {
      const response = await route.fetch();
      const text = (await response.text()).replace('%%CONFIG%%', 'prefetch: true').replace('%%AdUser%%', '{}');
      await route.fulfill({ response, body: text });
    });
    await page.goto(`${stage.url}/sdk/${name === 'embed.html' ? '' : 'html/'}${name}?accountId=x`);
    await expect
      .poll(() => page.evaluate('told') as Promise<string[]>)
      .toEqual(expect.arrayContaining(['error', 'no_ads_found']));
  },
);
