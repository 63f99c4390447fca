import { expect, test } from 'vitest';
import { parseUrl } from '../../../src/platform/lib/url.ts';

test('parses URLs with non-ASCII letters, however often', () => {
  for (let turn = 0; turn < 100_000; turn += 1) {
    const host = parseUrl('https://www.bücher.example/café')?.hostname;
    if (host !== 'www.xn--bcher-kva.example') expect(`${host} in turn ${turn}`).toBe('www.xn--bcher-kva.example');
  }
});

test.each(['', 'shop', '//shop.example', 'https://'])('%j is not a URL', (text) => {
  expect(parseUrl(text)).toBeNull();
});
