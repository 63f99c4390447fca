import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Code of a guide in the language of its platform. */
const codeOf = (name: string, language: string): string[] =>
  [...read(`docs/guides/${name}.md`).matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, found, code = '']) =>
    found === language ? [code] : [],
  );
const platforms = [
  { name: 'android', blocks: codeOf('android', 'kotlin') },
  { name: 'ios', blocks: codeOf('ios', 'swift') },
  { name: 'flutter', blocks: codeOf('flutter', 'dart') },
].map((platform) => ({ ...platform, all: platform.blocks.join('\n') }));

const client = { callback: read('packages/client/src/callback.ts'), sdk: read('packages/client/src/sdk.ts') };
const events = new Set([...client.callback.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, event]) => event));
const membersOf = (type: string): Set<string | undefined> => {
  const [, body = ''] = new RegExp(`export type ${type} =[^{]*\\{(.*?)^\\};`, 'ms').exec(client.sdk) ?? [];
  return new Set([...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, member]) => member));
};
const methods = new Set([...membersOf('Ad'), ...membersOf('AdUnit')]);

type Operation = { parameters: ({ name: string } | { $ref: string })[] };
const { paths } = JSON.parse(read('docs/openapi.json')) as { paths: Record<string, { post?: Operation }> };

/** Code without its texts and comments, for counting brackets. */
const bare = (code: string): string =>
  code
    .replaceAll(/\/\/\/?.*$/gm, (line) => (/^\/\/[\w.]/.test(line) ? line : ''))
    .replaceAll(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, '""');

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

describe.each(platforms)('the code of the $name guide', ({ blocks, all }) => {
  test('is there for values, fetching and web view, with every bracket closed', () => {
    expect(blocks.length).toBeGreaterThanOrEqual(3);
    for (const block of blocks)
      for (const [open = '', close = ''] of ['()', '{}', '[]'].map((pair) => [...pair])) {
        const text = bare(block);
        expect(text.split(open).length, `${open} in ${block.slice(0, 60)}`).toBe(text.split(close).length);
      }
  });

  test('names events of the SDK, their fields, and methods of it', () => {
    const named = [...all.matchAll(/(?:event|args\[0\]) == ["'](\w+)["']/g)].map(([, event]) => event);
    expect(named).toContain('url_clicked');
    expect(named.filter((event) => !events.has(event))).toEqual([]);
    const called = [...all.matchAll(/\bAd\.(\w+)/g)].map(([, method]) => method);
    expect(called.length).toBeGreaterThan(0);
    expect(called.filter((method) => !methods.has(method))).toEqual([]);
    const fields = [...all.matchAll(/(?:getString\(|optInt\(|args\[1\]\[|payload\[)["'](\w+)["']/g)].map(
      ([, one]) => one,
    );
    const known = ['name', 'url', 'offerCount', 'ua'];
    expect(fields.filter((field) => !known.includes(String(field)))).toEqual([]);
    for (const member of ['offerCount', 'url']) expect(client.sdk).toMatch(new RegExp(`\\b${member}: `));
  });

  test('fetches as the reference says, and the service answers', async () => {
    const [, path = ''] = /["'](?:\$SERVICE|\\\(service\)|\$service)(\/native\/[\w/.]+)["']/.exec(all) ?? [];
    const operation = paths[path]?.post;
    expect(operation, path).toBeDefined();
    const names = [...all.matchAll(/["'](api_key|loyaltyboost|creative|campaignId)["'](?: to |:|,)/g)].map(
      ([, name]) => name as string,
    );
    expect(new Set(names).size).toBe(4);
    const parameters =
      operation?.parameters.map((one) => ('name' in one ? one.name : one.$ref.split('/').at(-1))) ?? [];
    for (const name of new Set(names)) expect([...parameters, 'api_key']).toContain(name);
    expect(all).toContain('application/json');
    const query = new URLSearchParams({
      api_key: t.publisher.sdkId,
      loyaltyboost: '0',
      creative: '1',
      campaignId: '1',
    });
    const payload = { dev: '1', placement: 'checkout', pub_user_id: 'user-1', ua: 'Phone/1.0' };
    const answer = await t.app.inject({ method: 'POST', url: `${path}?${query}`, payload });
    expect(answer.statusCode, answer.body).toBe(200);
    expect(answer.json().data.count).toBeTypeOf('number');
  });

  test('loads the script and the pages from where the service has them', async () => {
    expect(all).toMatch(/(?:\$SERVICE|\\\(service\)|\$service)\/launcher\.min\.js/);
    for (const url of ['/launcher.min.js', '/sdk/html/checkout.html', '/sdk/html/prefetch.html'])
      expect((await t.app.inject({ url })).statusCode, url).toBe(200);
  });

  test('opens web pages outside of the app only, and waits a second before it lets the web view navigate', () => {
    expect(all).toMatch(/["']https?["'].*["']https?["']/);
    expect(all).toMatch(/1_000|\+ 1\b|seconds: 1\b/);
  });
});
