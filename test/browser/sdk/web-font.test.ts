import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { measureFont } from '../../../src/catalog-admin/fonts/measure-font.ts';
import { lacks, launchBrowser, newContext } from '../../support/browser.ts';
import { type BoxFont, ttfOf, woff2Of } from '../../support/font.ts';
import { type Stage, serveAdvertisers, startStage } from './support.ts';

/**
 * Characters whose widths are those of Arial on a real device. Its heights differ from those of all other fonts here.
 */
const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
const widths = (values: readonly number[]) =>
  Object.fromEntries(printable.map((letter) => [letter, values[[...letters].indexOf(letter)] ?? 600]));
const letters = 'abcdefghijklmnopqrstuvwxyz ';
const arial = widths([
  ...[
    556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722,
  ],
  ...[500, 500, 500, 278],
]);
const arialBold = widths([
  ...[
    556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778,
  ],
  ...[556, 556, 500, 278],
]);
/** Makes letter widths 1.3 times as wide, for a brand font that is also taller. */
const wider = (advances: Record<string, number>) =>
  Object.fromEntries(Object.entries(advances).map(([letter, width]) => [letter, Math.round(width * 1.3)]));
const brand: BoxFont = { family: 'Brand', ascent: 1100, descent: 400, lineGap: 100, advances: wider(arial) };
const brandBold: BoxFont = { ...brand, style: 'Bold', advances: wider(arialBold) };

let stage: Stage;
let folder: string;
/** Held responses to font requests, which a test releases. */
const pendingResponses: (() => void)[] = [];
const host = createServer(({ url }, response: ServerResponse) => {
  const file = woff2Of(url === '/bold.woff2' ? brandBold : brand);
  pendingResponses.push(() => response.writeHead(200, { 'access-control-allow-origin': '*' }).end(file));
});
beforeAll(async () => {
  stage = await startStage();
  folder = mkdtempSync(join(tmpdir(), 'perkwire-fonts-'));
  for (const [style, advances] of [
    ['Regular', arial],
    ['Bold', arialBold],
  ] as const)
    writeFileSync(
      join(folder, `arial-${style}.ttf`),
      ttfOf({ family: 'Arial', style, ascent: 905, descent: 212, lineGap: 33, advances }),
    );
  writeFileSync(
    join(folder, 'fonts.conf'),
    `<fontconfig><dir>${folder}</dir><cachedir>${folder}</cachedir></fontconfig>`,
  );
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  const [font, bold] = [await measureFont(woff2Of(brand)), await measureFont(woff2Of(brandBold))];
  const webFont = {
    ...font,
    url: `${base}/regular.woff2`,
    bold_url: `${base}/bold.woff2`,
    bold_width: bold?.width,
  };
  await stage.t.pool.query('update themes set appearance = $1', [JSON.stringify({ web_font: webFont })]);
  await stage.t.deps.catalog.refresh();
});
afterAll(async () => {
  await stage?.close();
  host.close();
  host.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

type Box = { text: string; top: number; left: number; width: number; height: number };

/** Returns the position of each element with text, in the unit or on a hosted page. */
const boxesOf = (page: Page): Promise<Box[]> =>
  page.evaluate(() => {
    const root = document.querySelector('[data-perkwire]')?.shadowRoot ?? document.body;
    return [...root.querySelectorAll<HTMLElement>('h1, h2, h3, p, a, button')]
      .filter((element) => element.checkVisibility() && element.textContent?.trim() !== '')
      .map((element) => {
        const { top, left, width, height } = element.getBoundingClientRect();
        return { text: element.textContent ?? '', top, left, width, height };
      });
  });

const loaded = (page: Page) =>
  page.waitForFunction(() => [...document.fonts].filter(({ status }) => status === 'loaded').length >= 4);

describe.skipIf(lacks('fonts'))('a theme font', () => {
  test.each([
    [
      'the unit',
      (width: number) =>
        stage.urlOf({
          body: `<div style="width:${width}px" id="unit"></div>`,
          config: { targetElement: '#unit' },
          user: { placement: 'checkout', pub_user_id: 'font-1' },
        }),
      '[data-perkwire] .tile',
    ],
    ['the offerwall', () => `${stage.url}/offerwall?accountId=0123456789abcdef`, '.tile'],
  ])('the web font loads without moving any part of %s by more than a pixel', async (_name, urlOf, ready) => {
    const browser = await launchBrowser(join(folder, 'fonts.conf'));
    try {
      const context = await newContext(browser, { viewport: { width: 800, height: 900 } });
      await serveAdvertisers(context);
      const page = await context.newPage();
      const problems: string[] = [];
      page.on(
        'console',
        (message) => void (/Content.Security|OTS|decode/.test(message.text()) && problems.push(message.text())),
      );
      pendingResponses.length = 0;
      await page.goto(urlOf(700), { waitUntil: 'domcontentloaded' });
      await page.locator(ready).first().waitFor();
      await expect.poll(() => pendingResponses.length).toBe(2);
      const before = await boxesOf(page);
      expect(before.length).toBeGreaterThan(5);
      for (const answer of pendingResponses) answer();
      await loaded(page);
      const after = await boxesOf(page);
      expect(after.map(({ text }) => text)).toEqual(before.map(({ text }) => text));
      const moved = after.filter((box, at) => {
        const { top = 0, height = 0 } = before[at] ?? {};
        return Math.abs(box.top - top) > 1 || Math.abs(box.height - height) > 1;
      });
      expect(moved).toEqual([]);
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
