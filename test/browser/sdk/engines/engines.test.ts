import { readdirSync, readFileSync } from 'node:fs';
import { type Node, parse } from 'acorn';
import { full } from 'acorn-walk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureBuilt } from '../../../support/resources.ts';
import { type Stage, startStage } from '../support.ts';
import { guarded, newerGlobals, newerMembers } from './newer.ts';

/** Supported by iOS 12 and Chromium 60 (docs/guides/web.md#browsers). */
const ecmaVersion = 2017;

const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');

let stage: Stage;
let scripts: string[];
beforeAll(async () => {
  await ensureBuilt();
  stage = await startStage();
  scripts = readdirSync(new URL('../../../../dist/sdk/', import.meta.url)).filter((name) => name.endsWith('.js'));
});
afterAll(() => stage.close());

/** Returns unguarded uses of features that the oldest web views lack. */
function newerUses(text: string): string[] {
  const uses = new Set<string>();
  full(parse(text, { ecmaVersion }), (node: Node) => {
    const { type, computed, property, name } = node as Node & {
      computed?: boolean;
      property?: { name: string };
      name?: string;
    };
    if (type === 'MemberExpression' && computed !== true && newerMembers.includes(property?.name ?? ''))
      uses.add(property?.name ?? '');
    if (type === 'Identifier' && newerGlobals.includes(name ?? '')) uses.add(name ?? '');
  });
  return [...uses].filter((use) => !guarded.includes(use));
}

test('every script parses as ES2017 and uses no newer feature without a check', () => {
  expect(scripts.length).toBeGreaterThanOrEqual(7);
  for (const name of scripts) expect([name, newerUses(read(`dist/sdk/${name}`))]).toEqual([name, []]);
});

test.each(['embed.html', 'checkout.html', 'prefetch.html'])('the scripts in %s parse as ES5', (name) => {
  const text = read(`assets/html/${name}`)
    .replace(/%%CONFIG%%/g, 'a: 1')
    .replace(/%%\w+%%/g, '{}');
  const inline = [...text.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(([, code = '']) => code);
  expect(inline.length).toBeGreaterThan(0);
  for (const code of inline) parse(code, { ecmaVersion: 5 });
});

test('the compatibility check detects newer syntax and APIs', () => {
  expect(newerUses('Object.fromEntries([]); new ResizeObserver(f)').sort()).toEqual(['ResizeObserver', 'fromEntries']);
  for (const newer of ['a ?? b', '/(?<=a)b/', '/a.b/s']) expect(() => newerUses(newer)).toThrow(SyntaxError);
});

const removedGlobals = newerGlobals.filter((name) => !['CSSStyleSheet', 'globalThis'].includes(name));

/** Script that removes the features that the oldest web views lack. */
const ageing = `{
  const places = [Object, Array.prototype, String.prototype, Promise, Promise.prototype, Element.prototype, URL,
    Document.prototype, DocumentFragment.prototype, ShadowRoot.prototype, CSSStyleSheet.prototype, AbortSignal,
    HTMLDialogElement.prototype, Navigator.prototype, Crypto.prototype, window];
  for (const name of ${JSON.stringify([...newerMembers, 'close'])})
    for (const place of places) if (!(name === 'close' && place === window)) delete place[name];
  for (const name of ${JSON.stringify(removedGlobals)}) delete window[name];
  delete HTMLDialogElement.prototype.show;
  delete Intl.Locale;
}`.replace('delete HTMLDialogElement.prototype.show;', '');

describe('an iOS 12 web view', () => {
  test.each(['order-status', 'checkout'])('shows the unit at %s and reports user actions', async (placement) => {
    const context = await stage.newContext();
    await context.addInitScript(ageing);
    const user = { placement, pub_user_id: `old-${placement}` };
    const { page, until, problems, calledTimes } = await stage.open({ context, user });
    await until('ad_shown');
    expect(
      await page.evaluate('[typeof IntersectionObserver, typeof AbortController, "adoptedStyleSheets" in document]'),
    ).toEqual(['undefined', 'undefined', false]);
    const frame = page.locator('dialog.frame');
    const box = await frame.boundingBox();
    const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
    expect(Math.abs((box?.x ?? 0) + (box?.width ?? 0) / 2 - width / 2)).toBeLessThan(2);
    expect(Math.abs((box?.y ?? 0) + (box?.height ?? 0) / 2 - height / 2)).toBeLessThan(2);
    if (placement === 'checkout') await page.getByRole('checkbox').first().check();
    await page.keyboard.press('Escape');
    await until('closed_ads');
    await expect.poll(() => calledTimes('/p.png')).toBeGreaterThan(0);
    expect(problems).toEqual([]);
  });

  test('shows the offerwall in a container', async () => {
    const context = await stage.newContext();
    await context.addInitScript(ageing);
    const config = { containerId: 'wall' };
    const { page, until, problems } = await stage.open({
      context,
      config,
      body: '<div id="wall"></div>',
      user: { pub_user_id: 'old-wall' },
      script: '/launcher.perkswall.js',
    });
    await until('ads_found');
    await page.locator('[data-perkswall] .tile .name').first().click();
    await page.locator('[data-perkswall] dialog').waitFor();
    await page.locator('[data-perkswall] dialog .button').last().click();
    await expect.poll(() => page.locator('[data-perkswall] dialog').count()).toBe(0);
    expect(problems).toEqual([]);
  });
});
