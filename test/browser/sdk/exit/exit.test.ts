import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenPage, type Stage, startStage } from '../support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const newUser = () => ({ placement: 'order-status', pub_user_id: `exit-${++users}` });
const body = '<div style="height: 6000px">A long page</div>';
const withExit = (order: 'before' | 'after') => {
  const scripts = ['<script src="%%HOST%%/launcher.min.js"></script>', '<script src="%%HOST%%/exit.js"></script>'];
  return `<!doctype html><title>Shop</title><body>${body}<button id="buy">Buy</button><script>
window.seen = []; window.AdConfig = { accountId: '${stage.t.publisher.sdkId}', autoShow: false,
  callback: (event, payload) => seen.push({ event, payload }) };
window.AdUser = ${JSON.stringify(newUser())};</script>${(order === 'after' ? scripts : scripts.reverse()).join('')}`;
};

/** Opens a browser context that emulates a touch device. */
const phone = async (): Promise<BrowserContext> => {
  const context = await stage.newContext();
  await context.addInitScript(`const { matchMedia } = window;
    window.matchMedia = (query) => query.includes('coarse') ? { matches: true } : matchMedia.call(window, query);`);
  return context;
};

const leaveByMouse = ({ page }: OpenPage, clientY = -1) =>
  page.evaluate(`document.dispatchEvent(new MouseEvent('mouseout', { clientY: ${clientY}, bubbles: true }))`);

const signals: [string, (opened: OpenPage) => Promise<unknown>][] = [
  [
    'going back',
    async ({ page }) => {
      await page.locator('#buy').click();
      await page.evaluate('history.back()');
    },
  ],
  [
    'scrolling up fast',
    async ({ page }) => {
      await page.evaluate('scrollTo(0, 3000)');
      await page.waitForFunction('scrollY === 3000');
      await page.evaluate(`new Promise((resolve) => {
        const up = () => { scrollBy(0, -200); if (scrollY > 1200) requestAnimationFrame(up); else resolve(); };
        requestAnimationFrame(up);
      })`);
    },
  ],
  [
    'returning from another tab',
    ({ page }) =>
      page.evaluate(`for (const hidden of [true, false]) {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
        document.dispatchEvent(new Event('visibilitychange'));
      }`),
  ],
];

describe('exit.js', () => {
  test.each(['before', 'after'] as const)(
    'loaded %s the launcher shows the offers when the mouse leaves at the top of the page',
    async (at) => {
      const opened = await stage.open({ document: withExit(at) });
      await opened.until('ads_found');
      await leaveByMouse(opened, 300);
      expect(await opened.names()).toEqual(['ads_found']);
      await leaveByMouse(opened);
      await opened.until('ad_shown');
      await leaveByMouse(opened);
      expect(await opened.names()).toEqual(['ads_found', 'ad_shown']);
    },
  );

  test.each(signals)('shows the offers on a phone on %s', async (_name, leave) => {
    const opened = await stage.open({ context: await phone(), document: withExit('after') });
    await opened.until('ads_found');
    const url = opened.page.url();
    await leave(opened);
    await opened.until('ad_shown');
    expect(opened.page.url()).toBe(url);
  });

  test.each(signals)('does not show the offers on %s if there is a mouse', async (_name, leave) => {
    const opened = await stage.open({ document: withExit('after') });
    await opened.until('ads_found');
    if (_name === 'going back') expect(await opened.page.evaluate('history.length')).toBeLessThan(3);
    else await leave(opened);
    await leaveByMouse(opened);
    await opened.until('ad_shown');
    expect(await opened.names()).toEqual(['ads_found', 'ad_shown']);
  });

  test('watches the parent page and shows the offers there if it is loaded in a frame', async () => {
    const document = withExit('after').replace(/<script src="[^"]*exit.js"><\/script>/, '');
    const opened = await stage.open({ document });
    await opened.until('ads_found');
    await opened.page.evaluate(`new Promise((resolve) => {
      const frame = document.body.appendChild(document.createElement('iframe'));
      const script = frame.contentDocument.createElement('script');
      script.onload = resolve;
      script.src = '${stage.url}/exit.js';
      frame.contentDocument.body.append(script);
    })`);
    await leaveByMouse(opened);
    await opened.until('ad_shown');
  });

  test('does nothing and throws nothing without a launcher', async () => {
    const document = withExit('after').replace(/<script src="[^"]*launcher.min.js"><\/script>/, '');
    const opened = await stage.open({ document });
    await leaveByMouse(opened);
    await leaveByMouse(opened);
    expect([opened.problems, await opened.names()]).toEqual([[], []]);
  });
});

test.each(signals)('a theme with exit offers shows them on a phone on %s', async (_name, leave) => {
  const config = { settings: { show_ads_on_exit: true } };
  const long = `<button id="buy">Buy</button>${body}`;
  const opened = await stage.open({ context: await phone(), user: newUser(), config, body: long });
  await opened.until('ads_found');
  expect(await opened.names()).toEqual(['ads_found']);
  await leave(opened);
  await opened.until('ad_shown');
});
