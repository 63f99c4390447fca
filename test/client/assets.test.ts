import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { renderCheckoutHtml, renderPrefetchHtml } from '../../packages/client/src/index.ts';

const asset = (name: string): string => readFileSync(new URL(`../../assets/html/${name}`, import.meta.url), 'utf8');
const ids = {
  sdkId: '0123456789abcdef',
  sdkCdnUrl: 'https://offers.example/sdk/launcher.js',
  user: { placement: 'checkout' },
};

const voidTags = new Set(['meta', 'link', 'br', 'img', 'input', 'hr']);

/** Returns the tags that are left open, or closed without having been opened. */
function unbalanced(html: string): string[] {
  const markup = html.replace(/<!--[\s\S]*?-->/g, '').replace(/(<(script|style)\b[^>]*>)[\s\S]*?(<\/\2>)/g, '$1$3');
  const open: string[] = [];
  for (const [, slash, name = ''] of markup.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
    if (voidTags.has(name)) continue;
    if (slash === '') open.push(name);
    else if (open.pop() !== name) return [`</${name}>`];
  }
  return open;
}

const pages = [
  ['checkout.html', asset('checkout.html'), renderCheckoutHtml(asset('checkout.html'), { ...ids, mode: 'api' })],
  ['prefetch.html', asset('prefetch.html'), renderPrefetchHtml(asset('prefetch.html'), ids)],
] as const;

describe.each(pages)('%s', (_, template, html) => {
  test('is well-formed HTML with a language, an encoding, a viewport and a title', () => {
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(unbalanced(html)).toEqual([]);
    for (const tag of ['html', 'head', 'body', 'title'])
      expect(html.match(new RegExp(`<${tag}\\b`, 'g')), tag).toHaveLength(1);
    expect(html).toContain('<meta charset="utf-8">');
    expect(html).toMatch(/<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">/);
  });

  test('loads only the launcher script', () => {
    const loaded = [
      ...html.matchAll(/\b(?:src|href|data|data-sdk|poster)\s*=\s*"([^"]*)"|url\(([^)]*)\)|@import/g),
    ].map(([, url]) => url);
    expect(loaded).toEqual([ids.sdkCdnUrl]);
    expect(html.match(/https?:/g)).toHaveLength(1);
  });

  test('has no placeholders left once it is rendered', () => {
    expect(template).toContain('%%SDK_ID%%');
    expect(template).toContain('%%SDK_CDN_URL%%');
    expect(html).not.toContain('%%');
    expect(html).toContain('window.AdUser = { "placement": "checkout" };');
  });
});

test('the checkout page follows the colour scheme and respects the safe area', () => {
  const page = asset('checkout.html');
  expect(page).toContain('color-scheme: light dark');
  expect(page).toContain('prefers-color-scheme: dark');
  for (const side of ['top', 'right', 'bottom', 'left']) expect(page).toContain(`env(safe-area-inset-${side})`);
});

test('the pages contain exactly the placeholders that host apps replace', () => {
  const placeholders = (name: string) => [...new Set(asset(name).match(/%%\w+%%|window\.AdUser = \{\};/g))].sort();
  expect(placeholders('checkout.html')).toEqual(['%%AdUser%%', '%%CONFIG%%', '%%SDK_CDN_URL%%', '%%SDK_ID%%']);
  expect(placeholders('prefetch.html')).toEqual(['%%SDK_CDN_URL%%', '%%SDK_ID%%', 'window.AdUser = {};']);
});
