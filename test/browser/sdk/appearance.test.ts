import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DemoServer, startDemoServer } from '../../demo/support.ts';
import { violations } from '../../support/axe.ts';
import { closeContexts, lacks, newContext, openBrowser } from '../../support/browser.ts';

const sdkId = '0123456789abcdef';

/** Folder for the documentation images that `npm run docs:images` updates. Null in other runs. */
const imageFolder = process.env.UPDATE_IMAGES === undefined ? null : 'docs/images';

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

/** Page mode: the device's color scheme, and the page's language and text direction. */
type Mode = { name: string; colorScheme: 'light' | 'dark'; language: string };

const modes: readonly Mode[] = [
  { name: 'light', colorScheme: 'light', language: 'en' },
  { name: 'dark', colorScheme: 'dark', language: 'en' },
  { name: 'rtl', colorScheme: 'light', language: 'ar' },
];

type Surface = {
  name: string;
  open: (language: string) => Promise<Page>;
  /** Selector of the element that appears when the page is complete. */
  ready: string;
};

async function newPage(viewport: BrowserContextOptions['viewport'] = { width: 1100, height: 820 }): Promise<Page> {
  const context = await newContext(browser);
  await context.route(/\.example\//, (route) => route.fulfill({ contentType: 'text/html', body: 'advertiser' }));
  const page = await context.newPage();
  await page.setViewportSize(viewport ?? { width: 1100, height: 820 });
  await page.emulateMedia({ reducedMotion: 'reduce' });
  return page;
}

/** Opens a shop page with a unit, either embedded or as an overlay. */
async function openUnit(
  placement: string,
  {
    embedded,
    language,
    viewport,
  }: { embedded: boolean; language: string; viewport?: { width: number; height: number } },
): Promise<Page> {
  const page = await newPage(viewport);
  await showUnit(page, placement, { embedded, language });
  return page;
}

async function showUnit(
  page: Page,
  placement: string,
  { embedded, language }: { embedded: boolean; language: string },
): Promise<void> {
  const config = { accountId: sdkId, ...(embedded && { targetElement: '#unit' }) };
  const user = { placement, pub_user_id: `look-${placement}-${embedded}-${language}` };
  const direction = language === 'ar' ? 'rtl' : 'ltr';
  const body = `<!doctype html><html lang="${language}" dir="${direction}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Shop</title>
<style>body{font:16px/1.5 system-ui;margin:0;padding:24px}main{max-width:1040px;margin:auto}h1{margin:0 0 16px}</style>
<main><h1>Thank you for your order</h1><div id="unit"></div></main>
<script>AdConfig = ${JSON.stringify(config)}; AdUser = ${JSON.stringify(user)};</script>
<script src="/sdk/launcher.js"></script></html>`;
  await page.route('**/shop-page', (route) => route.fulfill({ contentType: 'text/html', body }));
  await page.goto(`${demo.url}/shop-page`);
}

const unit = (name: string, placement: string, embedded: boolean): Surface => ({
  name: `unit-${name}-${embedded ? 'embedded' : 'modal'}`,
  open: (language) => openUnit(placement, { embedded, language }),
  ready: placement === 'order-status' ? '[data-perkwire] .single' : '[data-perkwire] .tile',
});

async function openWallet(language: string): Promise<Page> {
  const payload = { placement: 'checkout', pub_user_id: 'look-wallet' };
  const { data } = (
    await demo.t.app.inject({ method: 'POST', url: `/native/v4/offers.json?api_key=${sdkId}`, payload })
  ).json() as { data: { offers: { save_for_later_url: string }[] } };
  let link = '';
  for (const { save_for_later_url: url } of data.offers)
    link = (await demo.t.app.inject({ method: 'POST', url: url.replace(demo.url, '') })).json().data.wallet_url;
  const page = await newPage();
  await page.goto(`${link}&language=${language}`);
  return page;
}

async function openPath(path: string, viewport?: { width: number; height: number }): Promise<Page> {
  const page = await newPage(viewport);
  await page.goto(demo.url + path);
  return page;
}

const surfaces: readonly Surface[] = [
  unit('single', 'order-status', false),
  unit('single', 'order-status', true),
  unit('multi', 'checkout', false),
  unit('multi', 'checkout', true),
  { name: 'wallet', open: openWallet, ready: '.tile' },
  {
    name: 'offerwall',
    open: (language) => openPath(`/offerwall?sdk_id=${sdkId}&placement=look&language=${language}`),
    ready: '.tile',
  },
  { name: 'privacy', open: (language) => openPath(`/privacy/${sdkId}?language=${language}`), ready: 'table' },
  {
    name: 'demo-shop',
    open: async (language) => {
      const page = await openPath('/demo', { width: 1360, height: 1100 });
      if (language === 'ar')
        await page.evaluate(() => {
          document.documentElement.dir = 'rtl';
        });
      return page;
    },
    ready: '#perks .tile',
  },
];

/** Waits until all visible images are loaded. */
const untilImagesAreLoaded = (page: Page): Promise<unknown> =>
  page.waitForFunction(() => {
    const shadow = document.querySelector('[data-perkwire]')?.shadowRoot;
    const images = [...document.images, ...(shadow?.querySelectorAll('img') ?? [])];
    return images
      .filter((image) => image.getBoundingClientRect().top < window.innerHeight)
      .every((image) => image.complete && image.naturalWidth > 0);
  });

async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (imageFolder === null) return;
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.mouse.move(0, 0);
  const png = await page.screenshot();
  await sharp(png)
    .resize({ width: 1000, withoutEnlargement: true })
    .webp({ quality: 78 })
    .toFile(`${imageFolder}/${name}.webp`);
}

describe('the ad unit', () => {
  test.each(['order-status', 'checkout'])('fits a 320 pixel screen with long German words at %s', async (placement) => {
    const page = await openUnit(placement, {
      embedded: false,
      language: 'de',
      viewport: { width: 320, height: 640 },
    });
    await page.locator('[data-perkwire] :is(.single, .tile)').first().waitFor();
    const { scrolls, outside } = await page.evaluate(() => {
      const root = document.querySelector('[data-perkwire]')?.shadowRoot as ShadowRoot;
      const scroll = root.querySelector('.scroll') as HTMLElement;
      const boxes = [...root.querySelectorAll('.scroll :is(h3,a,button,label,img,p):not(.sr)')].map((element) =>
        element.getBoundingClientRect(),
      );
      return {
        scrolls: scroll.scrollWidth > scroll.clientWidth || document.documentElement.scrollWidth > window.innerWidth,
        outside: boxes.filter((box) => box.left < 0 || box.right > window.innerWidth).length,
      };
    });
    expect({ scrolls, outside }).toEqual({ scrolls: false, outside: 0 });
    // Links within a sentence are exempt, because they are only as high as the line.
    const small = await page.evaluate(
      (selector) =>
        [...(document.querySelector('[data-perkwire]')?.shadowRoot?.querySelectorAll(selector) ?? [])]
          .map((element) => ({ text: element.textContent, box: element.getBoundingClientRect() }))
          .filter(({ box }) => box.height > 0 && (box.height < 44 || box.width < 44))
          .map(({ text }) => text),
      'a:not(.terms-text a),button,label,summary',
    );
    expect(small).toEqual([]);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  test.each([
    ['order-status', '.btn.no'],
    ['checkout', '.done button'],
  ])('can be read and answered in a small window at 200 percent zoom at %s', async (placement, last) => {
    // CSS pixels of a 1280 × 800 window at 200% zoom.
    const page = await openUnit(placement, { embedded: false, language: 'en', viewport: { width: 640, height: 400 } });
    const frame = page.locator('[data-perkwire] .frame');
    await page.locator('[data-perkwire] .title').first().waitFor();
    expect(await frame.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
    await page.locator(`[data-perkwire] ${last}`).click(); // scrolls it into view
    if (placement === 'checkout') await expect.poll(() => page.locator('[data-perkwire]').count()).toBe(0);
    else await page.locator('[data-perkwire] .marks i:nth-child(2).now').waitFor();
    await page.context().close();
  });

  test('uses the page language, unless the theme or the page sets its own texts and labels', async () => {
    const page = await openUnit('order-status', { embedded: false, language: 'de' });
    await page.getByRole('button', { name: 'Schließen' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Your order is on its way' }).count()).toBe(1);
    expect(await page.locator('[data-perkwire] footer a', { hasText: 'Datenschutz' }).count()).toBe(1);
    await page.evaluate(`AdConfig.labels = { close: 'Weg damit' }; Ad.refresh()`);
    await page.getByRole('button', { name: 'Weg damit' }).waitFor();
    await page.context().close();
  });

  test('is in English if the translation cannot be loaded', async () => {
    const page = await newPage();
    await page.route('**/sdk/messages.*', (route) => route.abort());
    await showUnit(page, 'order-status', { embedded: false, language: 'fr' });
    await page.getByRole('button', { name: 'Close' }).waitFor();
    await page.context().close();
  });

  test.skipIf(lacks('dark mode'))("draws a perk's check mark in its text colour, in light and dark mode", async () => {
    const page = await openUnit('checkout', { embedded: true, language: 'en' });
    const box = page.getByRole('checkbox').first();
    await box.check();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const [tick, text] = await box.evaluate((input) =>
        [input, input.nextElementSibling as Element].map((element) => getComputedStyle(element).color),
      );
      expect(tick).toBe(text);
    }
    await page.context().close();
  });

  test('is closed by "Done" if it is a dialog with several offers', async () => {
    const page = await openUnit('checkout', { embedded: false, language: 'en' });
    await page.getByRole('button', { name: 'Done' }).click();
    await expect.poll(() => page.locator('[data-perkwire]').count()).toBe(0);
    await page.context().close();
  });

  test.each(['order-status', 'checkout'])('has at most three actions per card at %s', async (placement) => {
    const page = await openUnit(placement, { embedded: true, language: 'en' });
    const cards = page.locator('[data-perkwire] :is(.offer, .tile)');
    await cards.first().waitFor();
    for (const card of await cards.all()) {
      const actions = card.locator('a:visible, button:visible, label:visible');
      expect(await actions.count()).toBeLessThanOrEqual(3);
      const appearances = await actions.evaluateAll((all) =>
        all.map((action) => {
          const { backgroundColor, borderTopColor, borderTopWidth } = getComputedStyle(action);
          return [backgroundColor, borderTopWidth === '0px' ? 'none' : borderTopColor].join();
        }),
      );
      expect(new Set(appearances).size).toBe(appearances.length);
    }
    await page.context().close();
  });

  test('shows an English headline from left to right on a right-to-left page', async () => {
    const page = await openUnit('checkout', { embedded: true, language: 'ar' });
    const titles = page.locator('[data-perkwire] .title');
    await titles.first().waitFor();
    const directions = await titles.evaluateAll((all) =>
      all.map((title) => [
        getComputedStyle(title).direction,
        getComputedStyle(title.closest('.tile') as Element).direction,
      ]),
    );
    expect(new Set(directions.map(String))).toEqual(new Set(['ltr,rtl']));
    await page.context().close();
  });
});

describe.each(surfaces)('$name', ({ name, open, ready }) => {
  test('has no accessibility violations in light, dark and right-to-left mode', async () => {
    let page: Page | null = null;
    let opened = '';
    const possible = modes.filter(({ name: mode }) => mode !== 'dark' || !lacks('dark mode'));
    for (const { name: mode, colorScheme, language } of possible) {
      if (language !== opened) {
        await page?.context().close();
        page = await open(language);
        opened = language;
        await page.locator(ready).first().waitFor();
        await untilImagesAreLoaded(page);
      }
      const currentPage = page as Page;
      await currentPage.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await takeScreenshot(currentPage, `${name}-${mode}`);
      for (const summary of await currentPage.locator('summary').all()) await summary.click();
      expect(await violations(currentPage), mode).toEqual([]);
      for (const summary of await currentPage.locator('summary').all()) await summary.click();
    }
    await page?.context().close();
  });
});
