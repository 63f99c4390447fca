import type { BrowserContext, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { userAgent } from '../../support/browser.ts';
import { type Stage, startStage } from './support.ts';

/*
 * Programs as they exist: pages and apps that know the interface (docs/reference/web-sdk.md) and nothing of this code.
 */

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const accountId = '0123456789abcdef';
const newUser = (placement = 'order-status') => ({ placement, pub_user_id: `client-${++users}` });
type User = ReturnType<typeof newUser>;

/** Returns the number of recorded events of each kind in a user's sessions. */
async function countsOf(user: User): Promise<Record<string, number>> {
  const { rows } = await stage.t.pool.query<{ kind: string; n: number }>(
    `select kind, count(*)::int as n from events join sessions on sessions.id = events.session_id
     where pub_user_id = $1 group by kind`,
    [user.pub_user_id],
  );
  return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]));
}

const fetchAnswer = async (user: User): Promise<string> =>
  (
    await fetch(`${stage.url}/native/v4/offers.json?api_key=${accountId}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(user),
    })
  ).text();

type HostEvent = { name: string; payload: Record<string, unknown> };

/** Returns the events that the page's host received, in order. */
const eventsOf = (page: Page): Promise<HostEvent[]> =>
  page.evaluate(() => (window as unknown as { heard: HostEvent[] }).heard);
const namesOf = async (page: Page): Promise<string[]> => (await eventsOf(page)).map(({ name }) => name);

async function until(page: Page, name: string, count = 1): Promise<void> {
  await expect
    .poll(async () => (await namesOf(page)).filter((heard) => heard === name).length, { message: name })
    .toBe(count);
}

/** Bridges that apps inject into their web views. `hear` records what the app receives. */
const bridges = {
  Flutter: {
    stub: `window.flutter_inappwebview = { callHandler: async (handler, name, payload) => {
      hear(name, payload);
      return null;
    } };`,
    call: "flutter_inappwebview.callHandler('adCallback', event, payload)",
  },
  Android: {
    stub: 'window.Android = { adCallback: (name, json) => hear(name, JSON.parse(json)) };',
    call: 'Android.adCallback(event, JSON.stringify(payload))',
  },
  iOS: {
    stub: `window.webkit = { messageHandlers: { adCallback: { postMessage: ({ name, payload, ...rest }) =>
      hear(name, payload ?? rest) } } };`,
    call: 'webkit.messageHandlers.adCallback.postMessage({ name: event, payload })',
  },
  'React Native': {
    stub: `window.ReactNativeWebView = { postMessage: (text) => {
      const { name, ...payload } = JSON.parse(text);
      if (name !== undefined) hear(name, payload);
    } };`,
    call: "ReactNativeWebView.postMessage(JSON.stringify({ type: 'own', event, payload }))",
  },
} as const;

const hearing =
  'window.heard = []; const hear = (name, payload) => { heard.push({ name, payload }); onHear?.(name, payload); };';

type AppPage = { user: User; config?: string; before?: string; launcher?: string; body?: string; after?: string };

const documentOf = ({
  user,
  config = '',
  before = '',
  launcher = '/launcher.min.js',
  body = '',
  after = '',
}: AppPage) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<body>${body}<script>
var onHear; ${hearing}
${before}
window.AdUser = ${JSON.stringify(user)};
window.AdConfig = { accountId: '${accountId}', ${config} };
</script><script src="%%HOST%%${launcher}"></script><script>${after}</script></body></html>`;

/** Opens the page in the web view of a separate app. */
async function openPage(document: string, context?: BrowserContext): Promise<Page> {
  const { page } = await stage.open({ document, ...(context && { context }) });
  return page;
}

/** Simulates an app that opens links outside of its web view, and cancels navigation to these links. */
async function installApp(context: BrowserContext, opensFrom: 'event' | 'navigation'): Promise<string[]> {
  const opened: string[] = [];
  const openExternally = async (url: string): Promise<void> => {
    opened.push(url);
    await fetch(url, { redirect: 'manual', headers: { 'user-agent': userAgent } });
  };
  await context.exposeFunction('onUrlClicked', (url: string) => (opensFrom === 'event' ? openExternally(url) : null));
  await context.route('**/sdk/offer-click*', async (route: Route) => {
    const url = route.request().url();
    // The event can arrive after the navigation.
    if (opensFrom === 'event') await expect.poll(() => opened).toContain(url);
    else await openExternally(url);
    await route.abort();
  });
  return opened;
}

describe('a host app', () => {
  const cases = Object.keys(bridges).flatMap((host) =>
    (['event', 'navigation'] as const).flatMap((opensFrom) =>
      [false, true].map((callback) => [host, opensFrom, callback] as const),
    ),
  );

  test.each(cases)(
    'on %s that opens links from the %s (own callback: %s) receives each event and counts each click once',
    async (host, opensFrom, callback) => {
      const { stub, call } = bridges[host as keyof typeof bridges];
      const user = newUser();
      const context = await stage.newContext();
      const opened = await installApp(context, opensFrom);
      const before = `${stub}
        onHear = (name, payload) => { if (name === 'url_clicked') onUrlClicked(payload.url ?? payload.target_url); };`;
      const config = callback ? `callback: (event, payload) => { ${call}; }` : '';
      const page = await openPage(documentOf({ user, before, config }), context);
      await until(page, 'ad_shown');
      await page.locator('.btn.yes').click();
      await until(page, 'ad_shown', 2);
      await expect.poll(() => opened.length).toBe(1);
      await page.locator('.btn.no').click();
      await until(page, 'ad_shown', 3);
      await page.keyboard.press('Escape');
      await until(page, 'closed_ads');
      expect(await namesOf(page)).toEqual([
        'ads_found',
        'ad_shown',
        'url_clicked',
        'ad_taken',
        'ad_shown',
        'ad_not_taken',
        'ad_shown',
        'closed_ads',
      ]);
      await expect.poll(() => countsOf(user)).toEqual({ impression: 3, click: 1, no_thanks: 1, close: 1 });
      expect(opened).toHaveLength(1);
      await context.close();
    },
  );

  test('opens links itself if its callback returns false, and the page does not navigate', async () => {
    const context = await stage.newContext();
    const user = newUser();
    const config = "callback: (name, payload) => { hear(name, payload); return name !== 'url_clicked'; }";
    const page = await openPage(documentOf({ user, config }), context);
    await until(page, 'ad_shown');
    await page.locator('.btn.yes').click();
    await until(page, 'ad_shown', 2);
    expect([(await context.pages()).length, (await page.url()).startsWith(stage.pageUrl)]).toEqual([1, true]);
    expect((await countsOf(user)).click).toBeUndefined();
  });

  test('receives events in the new handler if it has both, or else in the old one', async () => {
    const both = `window.Android = { adCallback: (name) => hear(name), adpxCallback: (name) => hear('old ' + name) };`;
    const old = `window.Android = { adpxCallback: (name) => hear('old ' + name) };`;
    const [first, second] = [
      documentOf({ user: newUser(), before: both }),
      documentOf({ user: newUser(), before: old }),
    ];
    const context = await stage.newContext();
    const pages = [await openPage(first, context), await openPage(second, context)];
    await until(pages[0] as Page, 'ad_shown');
    await until(pages[1] as Page, 'old ad_shown');
    expect(await namesOf(pages[0] as Page)).toEqual(['ads_found', 'ad_shown']);
    expect(await namesOf(pages[1] as Page)).toEqual(['old ads_found', 'old ad_shown']);
  });

  test('receives earlier events on Flutter when it becomes ready later', async () => {
    const after = `Promise.resolve().then(() => Ad.init()).then(() => {
      ${bridges.Flutter.stub}
      window.dispatchEvent(new Event('flutterInAppWebViewPlatformReady'));
    });`;
    const page = await openPage(documentOf({ user: newUser(), after }));
    await until(page, 'ad_shown');
    expect(await namesOf(page)).toEqual(['ads_found', 'ad_shown']);
  });
});

describe.each(['prefetch.html', 'checkout.html'])('%s', (name) => {
  test.each(Object.keys(bridges))('notifies an app on %s that the SDK cannot be loaded', async (host) => {
    const template = await (await fetch(`${stage.url}/sdk/html/${name}`)).text();
    const { stub } = bridges[host as keyof typeof bridges];
    const document = template
      .replace('<head>', `<head><script>var onHear; ${hearing} ${stub}</script>`)
      .replace('%%SDK_ID%%', accountId)
      .replace('%%CONFIG%%', 'autoLoad: true, prefetch: true')
      .replace('%%AdUser%%', '{}')
      .replace('%%SDK_CDN_URL%%', `${stage.pageUrl}/nowhere/launcher.min.js`);
    const page = await openPage(document);
    await until(page, 'ads_found');
    expect(await eventsOf(page)).toMatchObject([
      { name: 'error', payload: { kind: 'connection_error', message: 'The SDK cannot be loaded.' } },
      { name: 'ads_found', payload: { offerCount: 0, total: 0 } },
    ]);
  });
});

describe('a prefetched API response', () => {
  test.each([
    ['', 'is shown without further calls'],
    ['.then(() => Ad.reload())', 'is unchanged after a reload'],
    ['; Ad.reload(); Ad.show()', 'is shown once, even if several calls follow immediately'],
  ])('with setApiResponse(json)%s %s', async (calls) => {
    const user = newUser();
    const answer = await fetchAnswer(user);
    const after = `Ad.setApiResponse(${JSON.stringify(answer)})${calls};`;
    const config = 'autoLoad: false, prefetch: false, callback: hear';
    const page = await openPage(documentOf({ user, config, after }));
    await until(page, 'ad_shown');
    await page.locator('.btn.no').click();
    await until(page, 'ad_shown', 2);
    expect(await namesOf(page)).toEqual(['ads_found', 'ad_shown', 'ad_not_taken', 'ad_shown']);
    await expect.poll(() => countsOf(user)).toEqual({ impression: 2, no_thanks: 1 });
  });
});

describe('a page written for the older SDK generation', () => {
  /**
   * Returns the template of apps that are already in the stores: a script adds the launcher script, and calls `init`
   * when it has loaded.
   */
  const oldDocument = (user: User, config: string, ready = '') => `<!doctype html><html lang="en"><body>
<div id="target"></div><script>
var onHear; ${hearing}
window.AdpxConfig = { accountId: '${accountId}', autoShow: true, ${config},
  callback: (event, payload) => hear(event, payload) };
window.AdpxUser = ${JSON.stringify(user)};
const script = document.createElement('script');
script.src = '%%HOST%%/launcher.min.js';
script.async = true;
script.onload = () => window.Adpx.init(window.AdpxConfig, window.AdpxConfig.callback).then(() => { ${ready} });
document.head.appendChild(script);
</script></body></html>`;

  test('fetches once and receives each event once if it both starts itself and is initialised', async () => {
    const user = newUser();
    const { page, calls } = await stage.open({ document: oldDocument(user, 'autoLoad: true, prefetch: true') });
    await until(page, 'ad_shown');
    await page.evaluate('Adpx.init(AdpxConfig, AdpxConfig.callback)');
    expect(await namesOf(page)).toEqual(['ads_found', 'ad_shown']);
    expect(calls().filter((call) => call === 'POST /native/v4/offers.json')).toHaveLength(1);
    await expect.poll(() => countsOf(user)).toEqual({ impression: 1 });
  });

  test('embeds the unit in an element named by a bare id, with the response that the app fetched', async () => {
    const user = newUser();
    const embedded = 'embedded: { enabled: true, showHeader: false, showFooter: false, targetElement: "target" }';
    const response = (await fetchAnswer(user)).replaceAll('<', '\\u003c');
    const ready = `Adpx.setApiResponse(${response}).then(() => Adpx.reload());`;
    const page = await openPage(oldDocument(user, `autoLoad: false, settings: { ${embedded} }`, ready));
    await page.locator('#target .btn.yes').waitFor();
    await until(page, 'ad_shown');
    expect(await page.locator('dialog').count()).toBe(0);
    expect(await namesOf(page)).toEqual(['ads_found', 'ad_shown']);
  });

  test('draws its own template with show(), reject() and rewind()', async () => {
    const user = newUser();
    const page = await openPage(`<!doctype html><html lang="en"><body><div id="adpx_box"></div>
<script src="%%HOST%%/launcher.native.min.js"></script><script>
var onHear; ${hearing}
window.AdpxConfig.targetElement = 'adpx_box';
window.AdpxConfig.accountId = '${accountId}';
window.AdpxConfig.callback = hear;
window.AdpxUser = ${JSON.stringify(user)};
window.AdpxConfig.template = \`<div class="modal"><h1 class="headline"></h1><p class="place"></p>
  <button class="yes"></button><button class="no" onClick="window.Adpx?.reject()">no</button>
  <button class="next" onClick="window.Adpx?.show()">next</button>
  <button class="back" onClick="window.Adpx?.rewind()">back</button>
  <button class="close" onClick="window.Adpx?.close()">close</button></div>\`;
window.AdpxConfig.render = (data, index, settings, styles) => {
  const box = document.getElementById('adpx_box');
  box.querySelector('.headline').innerHTML = data.title;
  box.querySelector('.place').textContent = index + ' ' + typeof settings.delay + ' ' + styles.popup.background;
};
document.getElementById('adpx_box').innerHTML = window.AdpxConfig.template;
Adpx.init().then(() => Adpx.show());
</script></body></html>`);
    await until(page, 'ad_shown');
    const { offers } = JSON.parse(await fetchAnswer(user)).data as { offers: { title: string }[] };
    const titles = new Set(offers.map(({ title }) => title));
    expect(await page.locator('#adpx_box .headline').count()).toBe(1);
    expect(titles).toContain(await page.locator('.headline').textContent());
    expect(await page.locator('.place').textContent()).toMatch(/^0 number #/);
    await page.locator('.next').click();
    await until(page, 'ad_shown', 2);
    expect(await page.locator('.place').textContent()).toMatch(/^1 /);
    await page.locator('.back').click();
    await until(page, 'ad_shown', 3);
    await page.locator('.no').click();
    await until(page, 'ad_not_taken');
    await page.locator('.close').click();
    await until(page, 'closed_ads');
    expect(await page.locator('#adpx_box > *').count()).toBe(0);
    await expect.poll(() => countsOf(user)).toEqual({ impression: 2, no_thanks: 1, close: 1 });
    expect((await namesOf(page)).filter((name) => name === 'error')).toEqual([]);
  });
});

describe('a page', () => {
  test.each(['/launcher.js', '/launcher.min.js', '/sdk/launcher.min.js', '/launcher.native.min.js'])(
    'gets offers with %s, which derives the service URL from its own URL',
    async (launcher) => {
      const page = await openPage(documentOf({ user: newUser(), config: 'callback: hear', launcher }));
      await until(page, 'ad_shown');
    },
  );

  test('gets offers from the service that built the script if it bundles the script', async () => {
    const script = await (await fetch(`${stage.url}/launcher.min.js`)).text();
    const document = documentOf({ user: newUser(), config: 'callback: hear' }).replace(
      '<script src="%%HOST%%/launcher.min.js"></script>',
      () => `<script>${script}</script>`,
    );
    const page = await openPage(document);
    await until(page, 'ad_shown');
  });

  test.each(['targetElement', 'containerId'])(
    'can specify its element by a bare id, a selector or the element (%s)',
    async (name) => {
      for (const value of ['"perks"', '"#perks"', '"main > .perks"', 'document.getElementById("perks")']) {
        const body = '<main><div id="perks" class="perks"></div></main>';
        const page = await openPage(documentOf({ user: newUser(), body, config: `callback: hear, ${name}: ${value}` }));
        await until(page, 'ad_shown');
        expect(await page.locator('#perks .btn.yes').count()).toBe(1);
      }
    },
  );

  test('can be configured after the script loads, and shows no unit without an account', async () => {
    for (const account of [`accountId: '${accountId}',`, '']) {
      const user = newUser();
      const page = await openPage(`<!doctype html><html lang="en"><body><script src="%%HOST%%/launcher.min.js"></script>
<script>var onHear; ${hearing} window.AdpxUser = ${JSON.stringify(user)};
window.AdpxConfig = { ${account} callback: hear };
window.addEventListener('load', () => setTimeout(() => hear('loaded')));</script></body></html>`);
      await until(page, account === '' ? 'loaded' : 'ad_shown');
      if (account === '') expect(await namesOf(page)).toEqual(['loaded']);
    }
  });

  test('can select its theme by key, and gets the default theme if the key is unknown', async () => {
    for (const [member, value, multi] of [
      ['theme_id', '"nobody-knows"', true],
      ['themeId', '"single-offer"', false],
      ['theme_id', '"single-offer"', false],
    ] as const) {
      const user = newUser('checkout');
      const page = await openPage(documentOf({ user, config: `callback: hear, ${member}: ${value}` }));
      await until(page, 'ad_shown', multi ? 3 : 1);
      expect(await page.locator('.tile').count()).toBe(multi ? 3 : 0);
    }
  });

  test('can call all methods concurrently, with one fetch, one unit and no error', async () => {
    const user = newUser();
    const after =
      'Ad.show(); Ad.init(); Ad.load(); Ad.refresh(); Ad.show(); Ad.reload(); Ad.load().then(() => Ad.isReady());';
    const { page, calls } = await stage.open({ document: documentOf({ user, config: 'callback: hear', after }) });
    await until(page, 'ad_shown');
    await expect.poll(() => countsOf(user)).toEqual({ impression: 1 });
    expect(await namesOf(page)).toEqual(['ads_found', 'ad_shown']);
    expect(calls().filter((call) => call === 'POST /native/v4/offers.json')).toHaveLength(1);
  });

  test('can contain several units, each with its own offers, events and perks', async () => {
    const user = newUser();
    const body = '<div id="top"></div><div id="grid"></div>';
    const config = 'autoLoad: false, callback: (name, payload) => hear("page " + name, payload)';
    const after = `window.top1 = Ad.mount({
        placement: 'order-status', targetElement: 'top', callback: (n, p) => hear('top ' + n, p) });
      window.grid1 = Ad.mount({ placement: 'checkout', containerId: 'grid' });`;
    const page = await openPage(documentOf({ user, body, config, after }));
    await until(page, 'top ad_shown');
    await until(page, 'page ads_found');
    await page.locator('#grid .tile').nth(2).waitFor();
    await page.locator('#grid input').first().check();
    await until(page, 'page usp_selected');
    expect(await page.evaluate('grid1.confirm()')).toBe(true);
    await page.locator('#top .btn.no').click();
    await until(page, 'top ad_shown', 2);
    await page.evaluate('top1.close()');
    await until(page, 'top closed_ads');
    expect(await page.locator('#grid .tile').count()).toBe(3);
    const foundEvents = (await eventsOf(page)).filter(({ name }) => name.endsWith('ads_found'));
    expect(foundEvents.map(({ name, payload }) => [name, payload.placement])).toEqual(
      expect.arrayContaining([
        ['top ads_found', undefined],
        ['page ads_found', 'checkout'],
      ]),
    );
    expect((await namesOf(page)).filter((name) => name.endsWith('error'))).toEqual([]);
  });
});
