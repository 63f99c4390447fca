import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allGuides, guidesPath } from '../../../src/reference/guides/guides.ts';
import { renderMarkdown } from '../../../src/reference/guides/render.ts';
import { listFiles } from '../../architecture/source.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let demo: TestApp;
const pages = new Map<string, string>();
beforeAll(async () => {
  t = await createTestApp({ config: { publicUrl: 'https://perks.shop.test' } });
  demo = await createTestApp({ demo: true });
  for (const { slug } of allGuides) pages.set(slug, (await t.app.inject(`${guidesPath}/${slug}`)).body);
});
afterAll(async () => {
  await demo?.close();
  await t?.close();
});

const page = (slug: string): string => pages.get(slug) ?? '';

describe('the guides', () => {
  test('include every document of docs/guides and docs/reference, with working links', () => {
    const files = allGuides.map(({ file }) => file);
    const expected = ['docs/guides/', 'docs/reference/'].flatMap((folder) => listFiles(folder, /\.md$/));
    expect(files).toEqual(expect.arrayContaining(expected));
    const wrong = [...pages].flatMap(([slug, body]) =>
      [...body.matchAll(/(?:href|src)="([^"]*)"/g)].flatMap(([, target = '']) => {
        const [path = '', anchor] = target.split('#');
        if (/^(https?|data|mailto):/.test(target) || /^\/(docs|docs\/events|dashboard)$/.test(target)) return [];
        if (path.startsWith('/docs/images/')) {
          const file = new URL(`../../../docs/images/${path.split('/').at(-1)}`, import.meta.url);
          return existsSync(file) ? [] : [`${slug}: ${target}`];
        }
        if (path.startsWith('/docs/assets/') || path === guidesPath) return [];
        const linked = path === '' ? body : pages.get(path.replace(`${guidesPath}/`, ''));
        const isThere = linked !== undefined && (anchor === undefined || linked.includes(` id="${anchor}"`));
        return isThere ? [] : [`${slug}: ${target}`];
      }),
    );
    expect(wrong).toEqual([]);
    expect(page('receiving-webhooks')).toContain(`href="${guidesPath}/webhooks#filters"`);
    for (const place of ['/docs', '/docs/events', '/dashboard']) expect(page('web')).toContain(`href="${place}"`);
  });

  test('use the host of the service in their snippets, and no real keys except in the demo', async () => {
    for (const body of pages.values())
      expect(body).not.toMatch(/localhost:8080|https:\/\/(offers\.example|perks\.example\.com)\//);
    expect(page('start')).toContain('https://perks.shop.test');
    for (const slug of ['start', 'overview']) expect(page(slug)).toContain('<span data-own="key">YOUR_API_KEY</span>');
    expect(page('overview')).toContain('https://perks.shop.test/native/v4/offers.json');
    expect(page('web')).toContain('<span data-own="sdk">YOUR_SDK_ID</span>');
    const inDemo = (await demo.app.inject(`${guidesPath}/overview`)).body;
    expect(inDemo).toContain('api_key=demo-key');
    expect(inDemo).not.toContain('data-own');
  });

  test('load nothing from other origins, and are cached by the browser', async () => {
    const first = await t.app.inject(`${guidesPath}/web`);
    const policy = String(first.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(first.body).not.toMatch(/<script(?! defer src="\/docs\/)|<style| style="| on\w+="/);
    const headers = { 'if-none-match': String(first.headers.etag) };
    expect((await t.app.inject({ url: `${guidesPath}/web`, headers })).statusCode).toBe(304);
    for (const [, asset = ''] of first.body.matchAll(/(?:href|src)="([^"]*\/assets\/[^"]*)"/g)) {
      const answer = await t.app.inject(asset);
      expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, expect.stringContaining('immutable')]);
    }
  });

  test('are all in the search index, each heading with its text', async () => {
    const rows = (await t.app.inject('/docs/search.json')).json() as [string, string, string, string][];
    const titles = rows.flatMap(([url, title]) => (url.startsWith(guidesPath) ? [title] : []));
    expect(new Set(titles)).toEqual(new Set(allGuides.map(({ title }) => title)));
    const row = rows.find(([url]) => url === `${guidesPath}/receiving-webhooks#receive-webhooks-in-five-steps`);
    expect(row?.slice(1, 3)).toEqual(['Receive webhooks', 'Receive webhooks in five steps']);
    expect(row?.[3]).toContain('before you parse it');
  });

  test('respond with 404 to an unknown guide, and never serve another file', async () => {
    for (const url of [
      `${guidesPath}/nothing`,
      '/docs/assets/nothing.css',
      '/docs/images/nothing.png',
      '/docs/images/..%2fopenapi.json',
      '/docs/images/..%2f..%2fpackage.json',
    ])
      expect([url, (await t.app.inject(url)).statusCode]).toEqual([url, 404]);
  });
});

test('guides escape all code and give repeated headings unique ids', () => {
  const own = { publicUrl: 'https://perks.shop.test', isDemo: false };
  const markdown = '# A\n\n## Same\n\n```\n<script>1</script>\n```\n\n`<b>`\n\n## Same\n\n[x](../../src/app.ts)\n';
  const { markup, sections } = renderMarkdown(markdown, 'docs/guides/web.md', own);
  expect(markup).toContain('&lt;script&gt;1&lt;/script&gt;');
  expect(markup).toContain('<code>&lt;b&gt;</code>');
  expect(sections.map(({ id }) => id)).toEqual(['a', 'same', 'same-1']);
  // A link to a file that is not served is rendered as plain text.
  expect(markup).toContain('<p>x</p>');
});

describe('the Markdown of the guides', () => {
  const links = (text: string): string[] => [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = '']) => href);

  test('has absolute links to pages that exist, and the host of the service', async () => {
    for (const { slug } of allGuides) {
      const answer = await t.app.inject(`${guidesPath}/${slug}.md`);
      expect(answer.headers['content-type']).toBe('text/markdown; charset=utf-8');
      expect(answer.body).toMatch(/^# /m);
      expect(answer.body).not.toContain('localhost:8080');
      for (const href of links(answer.body)) {
        const own = /^https:\/\/perks\.shop\.test\/docs\/guides\/([\w-]+)\.md(?:#|$)/.exec(href);
        if (own !== null) expect(pages.has(own[1] as string), `${slug}: ${href}`).toBe(true);
        else expect(href, slug).toMatch(/^(https?:|#)/);
      }
    }
    expect((await t.app.inject(`${guidesPath}/unknown.md`)).statusCode).toBe(404);
  });

  test('is listed in llms.txt with the purpose of each page, and only with the host of the service', async () => {
    const { body, headers } = await t.app.inject('/llms.txt');
    expect(headers['content-type']).toBe('text/markdown; charset=utf-8');
    expect(body).toMatch(/^# Perkwire\n\n> /);
    for (const { slug, title } of allGuides)
      expect(body).toContain(`- [${title}](https://perks.shop.test${guidesPath}/${slug}.md): `);
    for (const href of links(body)) expect(href).toMatch(/^https:\/\/perks\.shop\.test\/docs\//);
    for (const path of ['/docs/json', '/docs/events']) expect((await t.app.inject(path)).statusCode, path).toBe(200);
    const again = await t.app.inject({ url: '/llms.txt', headers: { 'if-none-match': String(headers.etag) } });
    expect(again.statusCode).toBe(304);
  });
});
