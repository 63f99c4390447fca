import { readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  InvalidParameterError,
  injectApiResponse,
  type JsonValue,
  renderCheckoutHtml,
  renderPrefetchHtml,
} from '../../packages/client/src/index.ts';

const asset = (name: string): string => readFileSync(new URL(`../../assets/html/${name}`, import.meta.url), 'utf8');
const checkout = asset('checkout.html');
const prefetch = asset('prefetch.html');

const ids = { sdkId: '0123456789abcdef', sdkCdnUrl: 'https://offers.example/sdk/launcher.js' };

type Page = { AdUser: Record<string, string>; AdConfig: Record<string, unknown> };

/** Extracts the inline scripts of a page like a browser, and runs them. */
function run(html: string, globals: Record<string, unknown> = {}): Page & Record<string, unknown> {
  const context: Record<string, unknown> = { ...globals };
  context.window = context;
  createContext(context);
  for (const [, script = ''] of html.matchAll(/<script>([\s\S]*?)<\/script/gi)) runInContext(script, context);
  return context as Page & Record<string, unknown>;
}

const entriesOf = (user: object): [string, unknown][] =>
  Reflect.ownKeys(user).map((key) => [String(key), Reflect.get(user, key)]);

const ends = (html: string): number => (html.match(/<\/script|<!--/gi) ?? []).length;

/** Potentially harmful strings, mixed with arbitrary text. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '</script>',
          '</SCRIPT ',
          '<!--',
          '-->',
          '<script>',
          ']]>',
          '"',
          "'",
          '`',
          '\\',
          '\n',
          '\r',
          '\u2028',
          '\u2029',
        ),
        fc.constantFrom(
          '%%SDK_ID%%',
          '%%AdUser%%',
          '%%CONFIG%%',
          '%%',
          'window.AdUser = {};',
          '$&',
          '$`',
          '$$',
          '\ud800',
          '\0',
        ),
        fc.string({ unit: 'grapheme', maxLength: 5 }),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('')),
);
const key = fc.oneof(
  { weight: 5, arbitrary: hostile },
  fc.constantFrom('__proto__', 'constructor', 'toString', '1', ''),
);
const payload = fc.array(fc.tuple(key, hostile), { maxLength: 6 }).map((entries) => Object.fromEntries(entries));

describe('any payload reaches window.AdUser unchanged and cannot break out of the script', () => {
  test.each([
    ['prefetch.html', (user: Record<string, string>) => renderPrefetchHtml(prefetch, { ...ids, user }), prefetch],
    [
      'checkout.html',
      (user: Record<string, string>) => renderCheckoutHtml(checkout, { ...ids, mode: 'sdk', user }),
      checkout,
    ],
  ])('%s', (_, render, template) => {
    fc.assert(
      fc.property(payload, (user) => {
        const html = render(user);
        expect(ends(html)).toBe(ends(template));
        expect(entriesOf(run(html).AdUser)).toEqual(entriesOf(user));
        expect(html).not.toMatch(/%%/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the user payload', () => {
  const userOf = (user: Record<string, JsonValue | undefined>) => ({
    ...run(renderPrefetchHtml(prefetch, { ...ids, user })).AdUser,
  });

  test('becomes quoted strings for values of any type', () => {
    expect(userOf({ a: 'x', n: 1.5, yes: true, o: { p: [1] } })).toEqual({
      a: 'x',
      n: '1.5',
      yes: 'true',
      o: '{"p":[1]}',
    });
  });

  test('leaves the statement unchanged if it is empty', () => {
    expect(renderPrefetchHtml('window.AdUser = {};', ids)).toBe('window.AdUser = {};');
    expect(renderPrefetchHtml('window.AdUser = {};', { ...ids, user: { a: undefined } })).toBe('window.AdUser = {};');
    expect(renderCheckoutHtml('%%AdUser%%', { ...ids, mode: 'api', user: {} })).toBe('{}');
  });

  test('replaces only the first statement', () => {
    const html = renderPrefetchHtml('window.AdUser = {};window.AdUser = {};', { ...ids, user: { a: '1' } });
    expect(html).toBe('window.AdUser = { "a": "1" };window.AdUser = {};');
  });
});

describe('the configuration', () => {
  test.each([
    ['sdk', 'autoLoad: true, prefetch: true', true],
    ['api', 'autoLoad: false, prefetch: false', false],
  ] as const)('matches the documented fragment for mode %s', (mode, fragment, flag) => {
    expect(renderCheckoutHtml('%%CONFIG%%', { ...ids, mode })).toBe(fragment);
    const { AdConfig } = run(renderCheckoutHtml(checkout, { ...ids, mode }));
    expect(AdConfig).toMatchObject({ accountId: ids.sdkId, autoLoad: flag, prefetch: flag, autoShow: true });
  });

  test('makes the hidden page load and store offers without showing any', () => {
    const { AdConfig } = run(renderPrefetchHtml(prefetch, ids));
    expect(AdConfig).toMatchObject({ accountId: ids.sdkId, autoLoad: true, prefetch: true, autoShow: false });
  });

  test('replaces every occurrence of a placeholder', () => {
    expect(renderPrefetchHtml('%%SDK_ID%%|%%SDK_ID%%|%%SDK_CDN_URL%%', ids)).toBe(
      `${ids.sdkId}|${ids.sdkId}|${ids.sdkCdnUrl}`,
    );
  });

  test('leaves the script URL of a checkout page to its template if none is specified', () => {
    const { sdkId } = ids;
    expect(renderCheckoutHtml('%%SDK_ID%% %%SDK_CDN_URL%%', { sdkId, mode: 'sdk' })).toBe(`${sdkId} %%SDK_CDN_URL%%`);
  });

  test('encodes a script URL for an attribute and for a string', () => {
    const sdkCdnUrl = `https://x.example/a"b'c<d>e\\f\`g;h?i=1&j=2`;
    expect(renderPrefetchHtml('%%SDK_CDN_URL%%', { ...ids, sdkCdnUrl })).toBe(
      'https://x.example/a%22b%27c%3Cd%3Ee%5Cf%60g%3Bh?i=1&j=2',
    );
  });

  test.each([
    ['mode', { mode: 'both' }],
    ['mode', { mode: 'toString' }],
    ['sdkId', { sdkId: "x'+alert(1)+'" }],
    ['sdkId', { sdkId: '' }],
    ['sdkCdnUrl', { sdkCdnUrl: 'javascript:alert(1)' }],
    ['sdkCdnUrl', { sdkCdnUrl: '/sdk/launcher.js' }],
  ])('rejects %s: %o', (parameter, options) => {
    const render = () => renderCheckoutHtml(checkout, { ...ids, mode: 'sdk', ...(options as object) });
    expect(render).toThrow(InvalidParameterError);
    expect(render).toThrow(expect.objectContaining({ parameter }));
  });
});

describe('a stored response', () => {
  const inject = async (json: object | string): Promise<unknown[]> => {
    const calls: unknown[] = [];
    const Ad = {
      setApiResponse: async (answer: unknown) => void calls.push(answer),
      reload: () => void calls.push('reload'),
    };
    const code = injectApiResponse(json);
    expect(code).not.toMatch(/<|\u2028|\u2029/);
    expect(runInContext(code, createContext({ Ad }))).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    return calls;
  };

  test('is passed first and then shown', async () => {
    expect(JSON.stringify(await inject({ data: { count: 1 } }))).toBe('[{"data":{"count":1}},"reload"]');
    expect(JSON.stringify(await inject('{"data":{"count":1}}'))).toBe('[{"data":{"count":1}},"reload"]');
  });

  test('arrives unchanged, with any text in it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, fc.oneof(hostile, fc.jsonValue())), async (answer) => {
        const text = JSON.stringify(answer);
        expect(JSON.stringify((await inject(text))[0])).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  test.each(['', 'no JSON', '[]', 'null'])('is rejected if it is not a JSON object: %o', (text) => {
    expect(() => injectApiResponse(text)).toThrow(InvalidParameterError);
  });
});
