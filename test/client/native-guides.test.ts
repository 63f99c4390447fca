import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Returns the code blocks of a guide in its platform's language. */
const codeOf = (name: string, language: string): string[] =>
  [...read(`docs/guides/${name}.md`).matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, blockLanguage, code = '']) =>
    blockLanguage === language ? [code] : [],
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

/** Returns the payload fields of an event. */
function payloadOf(event: string): string[] {
  const [, line = ''] = new RegExp(`^ {2}${event}: (.*);$`, 'm').exec(client.sdk) ?? [];
  return [...line.matchAll(/(\w+)\??: /g)].map(([, member = '']) => member);
}

type Schema = { $ref?: string; properties?: Record<string, unknown> };
type Operation = {
  parameters: ({ name: string } | { $ref: string })[];
  requestBody: { content: { 'application/json': { schema: Schema } } };
};
const { paths, components } = JSON.parse(read('docs/openapi.json')) as {
  paths: Record<string, { post?: Operation }>;
  components: { schemas: Record<string, Schema> };
};

/** Returns the fields that an operation's request body may have. */
function fieldsOf(operation: Operation | undefined): string[] {
  const schema = operation?.requestBody.content['application/json'].schema;
  const bodySchema = schema?.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1) ?? ''];
  return Object.keys(bodySchema?.properties ?? {});
}

type Heard = { event: unknown; payload: unknown };
type Post = (event: string, payload: object) => boolean;

/** Posts an event like the SDK to an app that has registered a guide's handler. */
async function post(host: object, event: string, payload: object): Promise<void> {
  const file = new URL('../../src/browser/sdk/bridge.ts', import.meta.url).pathname;
  const { createBridge } = (await import(file)) as { createBridge: (host: object) => { post: Post } };
  expect(createBridge({ addEventListener: () => {}, ...host }).post(event, payload)).toBe(true);
}

const match = (code: string, pattern: RegExp): string => pattern.exec(code)?.[1] ?? 'missing';

/**
 * The app of each guide. It registers the handler under the name used in the code, and records the events it receives.
 */
const apps: Record<string, (code: string, heard: Heard[]) => object> = {
  android: (code, heard) => ({
    [match(code, /addJavascriptInterface\(this, "(\w+)"\)/)]: {
      [match(code, /@JavascriptInterface\s+fun (\w+)\(event: String, json: String\)/)]: (event: string, json: string) =>
        heard.push({ event, payload: JSON.parse(json) }),
    },
  }),
  ios: (code, heard) => ({
    webkit: {
      messageHandlers: {
        [match(code, /userContentController\.add\(self, name: "(\w+)"\)/)]: {
          postMessage: ({ name, ...payload }: { name: string }) => heard.push({ event: name, payload }),
        },
      },
    },
  }),
  flutter: (code, heard) => ({
    flutter_inappwebview: {
      callHandler: async (name: string, event: string, payload: object) => {
        if (name === match(code, /addJavaScriptHandler\(handlerName: '(\w+)'/)) heard.push({ event, payload });
      },
    },
  }),
};

/** Returns code without strings and comments, for counting brackets. */
const bare = (code: string): string =>
  code
    .replaceAll(/\/\/\/?.*$/gm, (line) => (/^\/\/[\w.]/.test(line) ? line : ''))
    .replaceAll(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, '""');

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ scripts: true });
});
afterAll(() => t.close());

describe.each(platforms)('the code of the $name guide', ({ name: platform, blocks, all }) => {
  test('covers values, fetching and the web view, and has balanced brackets', () => {
    expect(blocks.length).toBeGreaterThanOrEqual(3);
    for (const block of blocks)
      for (const [open = '', close = ''] of ['()', '{}', '[]'].map((pair) => [...pair])) {
        const text = bare(block);
        expect(text.split(open).length, `${open} in ${block.slice(0, 60)}`).toBe(text.split(close).length);
      }
  });

  test('uses existing SDK events, event fields and methods', () => {
    const eventNames = [...all.matchAll(/(?:event|args\[0\]) == ["'](\w+)["']/g)].map(([, event]) => event);
    expect(eventNames).toContain('url_clicked');
    expect(eventNames.filter((event) => !events.has(event))).toEqual([]);
    const called = [...all.matchAll(/\bAd\.(\w+)/g)].map(([, method]) => method);
    expect(called.length).toBeGreaterThan(0);
    expect(called.filter((method) => !methods.has(method))).toEqual([]);
    const eventMatches = read(`docs/guides/${platform}.md`).matchAll(/`((?:ads?|no|closed|usp)_\w+)`/g);
    expect([...eventMatches].map(([, event = '']) => event).filter((event) => !events.has(event))).toEqual([]);
    const pattern = /(?:getString\(|optInt\(|args\[1\]\[|payload\[)["'](\w+)["']/g;
    const fields = [...read(`docs/guides/${platform}.md`).matchAll(pattern)].map(([, field = '']) => field);
    expect(fields).toEqual(expect.arrayContaining(['url', 'offerCount']));
    const payload = ['name', ...payloadOf('url_clicked'), ...payloadOf('ads_found')];
    const body = fieldsOf(paths['/native/v4/offers.json']?.post);
    expect(body).toEqual(expect.arrayContaining(['ua', 'dev', 'pub_user_id']));
    expect(fields.filter((field) => !payload.includes(field) && !body.includes(field))).toEqual([]);
  });

  test('listens under the names that the SDK calls in apps', async () => {
    const heard: Heard[] = [];
    const payload = { target_url: 'https://shop.example/', url: 'https://shop.example/' };
    await post(apps[platform]?.(all, heard) ?? {}, 'url_clicked', payload);
    await expect.poll(() => heard).toEqual([{ event: 'url_clicked', payload }]);
  });

  test('fetches as the reference describes, and the service responds', async () => {
    const [, path = ''] = /["'](?:\$SERVICE|\\\(service\)|\$service)(\/native\/[\w/.]+)["']/.exec(all) ?? [];
    const operation = paths[path]?.post;
    expect(operation, path).toBeDefined();
    const names = [...all.matchAll(/["'](api_key|loyaltyboost|creative|campaignId)["'](?: to |:|,)/g)].map(
      ([, name]) => name as string,
    );
    expect(new Set(names).size).toBe(4);
    const parameters =
      operation?.parameters.map((parameter) =>
        'name' in parameter ? parameter.name : parameter.$ref.split('/').at(-1),
      ) ?? [];
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

  test('loads the script and the pages from the URLs of the service', async () => {
    expect(all).toMatch(/(?:\$SERVICE|\\\(service\)|\$service)\/launcher\.min\.js/);
    for (const url of ['/launcher.min.js', '/sdk/html/checkout.html', '/sdk/html/prefetch.html'])
      expect((await t.app.inject({ url })).statusCode, url).toBe(200);
  });

  test('opens only web pages outside the app, and delays web view navigation by a second', () => {
    expect(all).toMatch(/["']https?["'].*["']https?["']/);
    expect(all).toMatch(/1_000|\+ 1\b|seconds: 1\b/);
  });
});
