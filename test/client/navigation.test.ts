import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  clickedUrlOf,
  InvalidParameterError,
  NavigationGuard,
  normaliseUrl,
  offerCountOf,
  parseAdCallback,
  parseAdMessage,
  requireBaseUrl,
} from '../../packages/client/src/index.ts';

/** Creates a guard whose waits end when the test ends them. */
function guarded(waitMs?: number) {
  const waits: { ms: number; end: () => void }[] = [];
  const wait = (ms: number) => new Promise<void>((end) => waits.push({ ms, end }));
  return { waits, guard: new NavigationGuard(waitMs === undefined ? { wait } : { waitMs, wait }) };
}

const instant = () => new NavigationGuard({ wait: async () => {} });

describe('the navigation guard', () => {
  test('cancels navigation to URLs that were opened externally, and allows the rest', async () => {
    const guard = instant();
    guard.opened('https://brand.example/sale');
    expect(await guard.decide('https://brand.example/sale')).toBe('cancel');
    expect(await guard.decide('https://brand.example/sale?x=1')).toBe('allow');
    expect(await guard.decide('https://other.example/sale')).toBe('allow');
  });

  test.each([null, undefined, ''])('cancels navigation without a URL: %o', async (url) => {
    expect(await guarded().guard.decide(url)).toBe('cancel');
  });

  test('decides after a second, so that a click reported in that time counts', async () => {
    const { guard, waits } = guarded();
    const decision = guard.decide('https://brand.example/sale');
    expect(waits.map(({ ms }) => ms)).toEqual([1_000]);
    guard.opened('https://brand.example/sale');
    waits[0]?.end();
    expect(await decision).toBe('cancel');
  });

  test('decides after the specified delay', async () => {
    const { guard, waits } = guarded(250);
    void guard.decide('https://brand.example/');
    expect(waits.map(({ ms }) => ms)).toEqual([250]);
    const from = performance.now();
    expect(await new NavigationGuard({ waitMs: 30 }).decide('https://brand.example/')).toBe('allow');
    expect(performance.now() - from).toBeGreaterThanOrEqual(28);
  });
});

describe('normalising equivalent URLs', () => {
  test.each([
    ['HTTPS://Brand.Example/Sale', 'https://brand.example/Sale'],
    ['https://brand.example:443/sale', 'https://brand.example/sale'],
    ['http://brand.example:80/', 'http://brand.example'],
    ['https://brand.example:/a', 'https://brand.example/a'],
    ['https://brand.example/sale/', 'https://brand.example/sale'],
    ['https://brand.example/sale/?a=1', 'https://brand.example/sale?a=1'],
    ['https://brand.example/sale#terms', 'https://brand.example/sale'],
    ['https://brand.example/sale?#terms', 'https://brand.example/sale'],
    [' https://brand.example/größe x ', 'https://brand.example/gr%C3%B6%C3%9Fe%20x'],
    ['https://brand.example/\ud800', 'https://brand.example/%EF%BF%BD'],
    ['https://[2001:DB8::1]:8443/', 'https://[2001:db8::1]:8443'],
  ])('%s', (written, other) => {
    expect(normaliseUrl(written)).toBe(normaliseUrl(other));
    expect(normaliseUrl(other)).toBe(other);
  });

  test.each([
    ['https://brand.example/Sale', 'https://brand.example/sale'],
    ['https://brand.example/?a=1', 'https://brand.example/?a=2'],
    ['https://brand.example:8443/', 'https://brand.example/'],
    ['http://brand.example/', 'https://brand.example/'],
    ['http://brand.example:443/', 'http://brand.example/'],
    ['https://Anna@brand.example/', 'https://anna@brand.example/'],
    ['mailto:a@b.example', 'mailto:c@b.example'],
  ])('does not make different URLs equal: %s and %s', (url, other) => {
    expect(normaliseUrl(url)).not.toBe(normaliseUrl(other));
  });

  test('matches the browser spelling of any web address', () => {
    const address = fc.webUrl({ withQueryParameters: true, withFragments: true, validSchemes: ['http', 'https'] });
    fc.assert(
      fc.property(address, (url) => {
        const normal = normaliseUrl(url);
        expect(normaliseUrl(normal)).toBe(normal);
        expect(normaliseUrl(`${url.split('#')[0]}#again`)).toBe(normal);
        // Dot segments are left to the web view, which resolves them before it reports a URL.
        if (!/\/\.{1,2}(?=[/?#]|$)|%2e/i.test(url)) expect(normaliseUrl(new URL(url).href)).toBe(normal);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a base URL', () => {
  test.each([
    ['https://shop.example', 'https://shop.example'],
    ['https://Shop.Example:443/', 'https://shop.example'],
    ['https://shop.example:8443', 'https://shop.example:8443'],
  ])('must be an https origin: %s', (url, origin) => {
    expect(requireBaseUrl(url)).toBe(origin);
  });

  test.each([
    'about:blank',
    'http://shop.example',
    'https://',
    'https://shop.example/path',
    'https://shop.example/?a',
    'https://shop.example/#',
    'https://user@shop.example',
    'shop.example',
    'data:text/html,x',
    '',
  ])('cannot be anything else: %o', (url) => {
    expect(() => requireBaseUrl(url)).toThrow(InvalidParameterError);
  });
});

describe('the arguments of adCallback', () => {
  test('are an event name and a payload, as an object or JSON text', () => {
    expect(parseAdCallback(['ads_found', { offerCount: 2 }])).toEqual({
      event: 'ads_found',
      payload: { offerCount: 2 },
    });
    expect(parseAdCallback(['ads_found', '{"offerCount":2}', 'more'])).toEqual({
      event: 'ads_found',
      payload: { offerCount: 2 },
    });
    expect(parseAdCallback(['url_clicked', 'https://brand.example/'])).toEqual({
      event: 'url_clicked',
      payload: 'https://brand.example/',
    });
    expect(parseAdCallback(['closed_ads', null])).toEqual({ event: 'closed_ads', payload: null });
  });

  test.each([[[]], [['ads_found']], [[1, {}]], [['', {}]], [[null, 'x']]])(
    'are ignored when they are invalid: %o',
    (args) => {
      expect(parseAdCallback(args)).toBeNull();
    },
  );

  test('are read from one message for bridges that pass a single value', () => {
    const expected = { event: 'ads_found', payload: { offerCount: 2 } };
    expect(parseAdMessage('{"offerCount":2,"name":"ads_found"}')).toEqual(expected);
    expect(parseAdMessage({ name: 'ads_found', offerCount: 2 })).toEqual(expected);
    for (const other of ['hello', '[]', '{"type":"x"}', 7, null]) expect(parseAdMessage(other)).toBeNull();
  });

  test('contain the number of offers', () => {
    expect(offerCountOf({ offerCount: 3 })).toBe(3);
    expect(offerCountOf({ total: '2' })).toBe(2);
    for (const none of [{ offerCount: 0 }, {}, null, 'x', { offerCount: -1 }, { offerCount: 'many' }])
      expect(offerCountOf(none)).toBe(0);
  });

  test('contain the URL to open, if its scheme is allowed', () => {
    expect(clickedUrlOf({ url: 'https://brand.example/', target_url: 'https://brand.example/' })).toBe(
      'https://brand.example/',
    );
    expect(clickedUrlOf({ target_url: 'http://brand.example/' })).toBe('http://brand.example/');
    expect(clickedUrlOf('https://brand.example/')).toBe('https://brand.example/');
    for (const other of ['javascript:alert(1)', { url: 'intent://x' }, { url: 'file:///etc' }, {}, null, 7]) {
      expect(clickedUrlOf(other)).toBeNull();
    }
  });
});
