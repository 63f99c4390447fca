import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ config: { publicUrl: 'https://perks.example' }, scripts: true });
});
afterAll(() => t.close());

/**
 * Runs a page's loader script as a browser would.
 * @returns the SDK URL
 */
function sdkOf(html: string, origin: string): string {
  const [, address, loader] = /<script data-sdk="([^"]*)">([\s\S]*?)<\/script>/.exec(html) ?? [];
  const added: { src: string }[] = [];
  const page = {
    currentScript: { getAttribute: () => address },
    createElement: () => ({}),
    head: { appendChild: (script: { src: string }) => added.push(script) },
  };
  new Function('document', 'location', loader as string)(page, { origin });
  expect(added).toHaveLength(1);
  return added[0]?.src ?? '';
}

const fill = (template: string): string =>
  template
    .replaceAll('%%SDK_ID%%', '0123456789abcdef')
    .replaceAll('%%CONFIG%%', 'autoLoad: true, prefetch: true')
    .replaceAll('%%AdUser%%', '{"placement":"checkout"}');

describe.each(['checkout.html', 'prefetch.html'])('%s', (name) => {
  const shipped = readFileSync(new URL(`../../../assets/html/${name}`, import.meta.url), 'utf8');

  test('is served to any origin, and works with the three documented placeholders', async () => {
    const answer = await t.app.inject({ url: `/sdk/html/${name}`, headers: { origin: 'https://app.example' } });
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    const html = fill(answer.body);
    expect(sdkOf(html, 'https://app.example')).toBe('https://perks.example/launcher.min.js');
    expect(html.match(/%%\w+%%/g)).toEqual(['%%SDK_CDN_URL%%']);
    const script = await t.app.inject({ url: new URL(sdkOf(html, '')).pathname });
    expect(script.headers['content-type']).toContain('text/javascript');
  });

  test('loads the SDK from the URL that an app specifies', async () => {
    const { body } = await t.app.inject({ url: `/sdk/html/${name}` });
    for (const template of [body, shipped]) {
      const html = fill(template).replaceAll('%%SDK_CDN_URL%%', 'https://cdn.example/launcher.js');
      expect(sdkOf(html, 'https://app.example')).toBe('https://cdn.example/launcher.js');
    }
  });

  test('loads the SDK from its own origin by default', () => {
    for (const address of ['%%SDK_CDN_URL%%', ''])
      expect(sdkOf(fill(shipped).replace('%%SDK_CDN_URL%%', address), 'https://perks.example')).toBe(
        'https://perks.example/launcher.min.js',
      );
  });

  test('sets no SDK callback, so that the app handles events', () => {
    expect(shipped).not.toMatch(/\bcallback:/);
  });
});

test.each(['/embed.css', '/sdk/embed.css'])('%s is served to pages of any origin', async (url) => {
  const answer = await t.app.inject({ url, headers: { origin: 'https://shop.example' } });
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/css; charset=utf-8']);
  expect(answer.headers['cross-origin-resource-policy']).toBe('cross-origin');
  expect(answer.body.length).toBeGreaterThan(0);
});
