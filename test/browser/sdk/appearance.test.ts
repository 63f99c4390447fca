import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PageSetup, type Stage, startStage } from './support.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

async function violations(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: axePath });
  return page.evaluate(async () => {
    type Result = { violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] };
    const { axe } = window as unknown as { axe: { run: (context: object) => Promise<Result> } };
    const result = await axe.run({ include: ['[data-perkwire]'] });
    return result.violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html} ${node.failureSummary ?? ''}`),
    );
  });
}

/** Waits until images are loaded and animations have ended. */
async function waitUntilSettled(page: Page): Promise<void> {
  await page.locator('[data-perkwire] img').first().waitFor();
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.waitForFunction(() =>
    [...(document.querySelector('[data-perkwire]')?.shadowRoot?.querySelectorAll('img') ?? [])].every(
      (image) => image.complete && image.naturalWidth > 0,
    ),
  );
}

const user = { placement: 'order-status', pub_user_id: 'appearance-1' };
const units: [string, string, PageSetup][] = [
  ['the single unit', 'sou.png', { user, viewport: { width: 1200, height: 860 } }],
  [
    'the grid with perks to select',
    'mou.png',
    { user: { ...user, placement: 'checkout' }, viewport: { width: 1200, height: 860 } },
  ],
];

// UPDATE_IMAGES=1 renews the screenshots of the documentation.
describe('the appearance of the units', () => {
  test.each(units)('%s has no accessibility violation', async (_name, file, setup) => {
    const { page, until } = await stage.open(setup);
    await until('ad_shown');
    await waitUntilSettled(page);
    if (file === 'mou.png') await page.getByRole('checkbox').nth(1).check();
    expect(await violations(page)).toEqual([]);
    await page.locator('summary').first().click();
    expect(await violations(page)).toEqual([]);
    await page.locator('summary').first().click();
    await page.mouse.move(0, 0);
    await page.screenshot(
      existsSync(`docs/images/${file}`) && process.env.UPDATE_IMAGES === undefined
        ? {}
        : { path: `docs/images/${file}` },
    );
  });

  test.each(['order-status', 'checkout'])(
    'fits a screen of 320 pixels, left to right and right to left, at %s',
    async (placement) => {
      for (const html of ['lang="en"', 'lang="ar" dir="rtl"']) {
        const { page, until } = await stage.open({
          html,
          user: { placement, pub_user_id: `narrow-${html.length}` },
          viewport: { width: 320, height: 640 },
        });
        await until('ad_shown');
        await waitUntilSettled(page);
        const { scrolls, outside } = await page.evaluate(() => {
          const root = document.querySelector('[data-perkwire]')?.shadowRoot as ShadowRoot;
          const scroll = root.querySelector('.scroll') as HTMLElement;
          const boxes = [...root.querySelectorAll('.scroll :is(h3,a,button,label,img,p):not(.sr)')].map((element) =>
            element.getBoundingClientRect(),
          );
          return {
            scrolls:
              scroll.scrollWidth > scroll.clientWidth || document.documentElement.scrollWidth > window.innerWidth,
            outside: boxes.filter((box) => box.left < 0 || box.right > window.innerWidth).length,
          };
        });
        expect({ scrolls, outside }).toEqual({ scrolls: false, outside: 0 });
        expect(await violations(page)).toEqual([]);
      }
    },
  );
});
