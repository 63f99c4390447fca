import { readFileSync } from 'node:fs';
import { act, createElement, type ReactElement } from 'react';
import { createRoot, type Root } from 'test-renderer';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  PerkwireOffers,
  type PerkwireOffersProps,
  PerkwirePrefetch,
  type PerkwirePrefetchProps,
} from '../../packages/react-native/src/index.ts';
import { originOf } from '../../packages/react-native/src/service.ts';
import { checkoutTemplate, prefetchTemplate } from '../../packages/react-native/src/templates.ts';
import { openedUrls } from './peers/react-native.ts';
import { injected } from './peers/react-native-webview.ts';

type Sent = { nativeEvent: { data: string } };
type WebViewProps = {
  source: { html: string; baseUrl: string } | { uri: string };
  onMessage: (event: Sent) => void;
  onLoadEnd: () => void;
  onError: (event: { nativeEvent: { description: string } }) => void;
  onShouldStartLoadWithRequest: (request: { url: string; isTopFrame: boolean }) => boolean;
} & Record<string, unknown>;

const service = { baseUrl: 'https://offers.example/', sdkId: '0123456789abcdef' };
const user = { placement: 'checkout', pub_user_id: 'user-1', first_name: '</script>' };
const shop = 'https://advertiser.example/deal?id=1';

let root: Root;
beforeEach(() => {
  vi.useFakeTimers();
  (globalThis as Record<string, unknown>).IS_REACT_ACT_ENVIRONMENT = true;
  openedUrls.length = 0;
  injected.length = 0;
  root = createRoot();
});
afterEach(async () => {
  await act(async () => root.unmount());
  vi.useRealTimers();
  delete (globalThis as Record<string, unknown>).IS_REACT_ACT_ENVIRONMENT;
});

const render = (element: ReactElement) => act(async () => root.render(element));
const webView = (): WebViewProps => {
  const [node] = root.container.queryAll(({ type }) => type === 'web-view');
  return node?.props as WebViewProps;
};
const send = (name: string, payload: object = {}) =>
  act(async () => webView().onMessage({ nativeEvent: { data: JSON.stringify({ name, ...payload }) } }));
const page = () => webView().source as { html: string; baseUrl: string };
const passTime = (ms: number) => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));

test.each([
  ['checkout', checkoutTemplate],
  ['prefetch', prefetchTemplate],
])('the page for %s equals the one that apps copy', (name, template) => {
  expect(template).toBe(readFileSync(new URL(`../../assets/html/${name}.html`, import.meta.url), 'utf8'));
});

describe('PerkwirePrefetch', () => {
  const prefetch = (props: Partial<PerkwirePrefetchProps> = {}) => {
    const onResult = vi.fn<(count: number) => void>();
    return { onResult, element: createElement(PerkwirePrefetch, { service, user, onResult, ...props }) };
  };

  test("loads the user's offers in a hidden web view with storage at an https origin", async () => {
    await render(prefetch().element);
    const { containerStyle, domStorageEnabled, javaScriptEnabled } = webView();
    expect(containerStyle).toEqual({ width: 0, height: 0, flex: 0 });
    expect([domStorageEnabled, javaScriptEnabled]).toEqual([true, true]);
    expect(page().baseUrl).toBe('https://offers.example');
    expect(page().html).toContain('data-sdk="https://offers.example/launcher.min.js"');
    expect(page().html).toContain("accountId: '0123456789abcdef'");
    expect(page().html).toContain('"pub_user_id": "user-1"');
    // A value cannot end the page's script element.
    expect(page().html.match(/<\/script>/g)).toHaveLength(2);
  });

  test.each([
    ['ads_found', { offerCount: 3 }, 3],
    ['ads_found', { total: '2' }, 2],
    ['no_ads_found', {}, 0],
  ])('%s with %j reports the result %i once', async (name, payload, count) => {
    const { onResult, element } = prefetch();
    await render(element);
    await send('unknown_event');
    await send(name, payload);
    await send(name, payload);
    await passTime(60_000);
    expect(onResult.mock.calls).toEqual([[count]]);
  });

  test('reports the result 0 without a response, or if the page cannot be loaded', async () => {
    const late = prefetch({ timeoutMs: 500 });
    await render(late.element);
    await passTime(499);
    expect(late.onResult).not.toHaveBeenCalled();
    await passTime(1);
    const failed = prefetch({ user: { placement: 'cart' } });
    await render(failed.element);
    await act(async () => webView().onError({ nativeEvent: { description: 'offline' } }));
    expect([late.onResult.mock.calls, failed.onResult.mock.calls]).toEqual([[[0]], [[0]]]);
  });

  test('keeps the page for equal props, and loads a new one with its own result for another user', async () => {
    const { onResult, element } = prefetch();
    await render(element);
    const before = webView().source;
    await render(createElement(PerkwirePrefetch, { service: { ...service }, user: { ...user }, onResult }));
    expect(webView().source).toBe(before);
    await send('ads_found', { offerCount: 1 });
    await render(createElement(PerkwirePrefetch, { service, user: { placement: 'cart' }, onResult }));
    expect(webView().source).not.toBe(before);
    await send('ads_found', { offerCount: 2 });
    expect(onResult.mock.calls).toEqual([[1], [2]]);
  });

  test('accepts only an https origin for its pages', () => {
    expect(originOf(service)).toBe('https://offers.example');
    expect(originOf({ ...service, origin: 'https://Shop.example/' })).toBe('https://shop.example');
    for (const origin of ['http://shop.example', 'about:blank', ''])
      expect(() => originOf({ ...service, origin }), origin).toThrow('https');
  });
});

describe('PerkwireOffers', () => {
  const offers = (props: Partial<PerkwireOffersProps> = {}) =>
    createElement(PerkwireOffers, { service, user, ...props });

  test('shows prefetched offers, or those passed as a prop', async () => {
    await render(offers());
    expect(page().html).toContain('autoLoad: true, prefetch: true');
    await act(async () => webView().onLoadEnd());
    expect(injected).toEqual([]);
    const response = JSON.stringify({ data: { offers: [], session_id: 'x' } });
    await render(offers({ response }));
    expect(page().html).toContain('autoLoad: false, prefetch: false');
    await act(async () => webView().onLoadEnd());
    expect(injected).toHaveLength(1);
    expect(injected[0]).toMatch(/^Promise\.resolve\(Ad\.setApiResponse\(.*true;$/s);
  });

  test('shows a new response on a new page, even if it arrives after its user', async () => {
    const load = () => act(async () => webView().onLoadEnd());
    const view = () => root.container.queryAll(({ type }) => type === 'web-view')[0];
    const responseOf = (id: string) => JSON.stringify({ data: { offers: [], session_id: id } });
    await render(offers({ response: responseOf('first') }));
    await load();
    const second = { ...user, pub_user_id: 'user-2' };
    await render(offers({ user: second, response: responseOf('first') }));
    const before = view();
    await render(offers({ user: second, response: responseOf('second') }));
    expect(view()).not.toBe(before);
    await load();
    expect(injected.at(-1)).toContain('second');
    const renderedView = view();
    await render(offers({ user: { ...second }, response: responseOf('second') }));
    expect(view()).toBe(renderedView);
  });

  test('opens a click-out outside the app once, whether event or navigation comes first', async () => {
    await render(offers());
    for (const isEventFirst of [true, false]) {
      openedUrls.length = 0;
      const navigate = () => webView().onShouldStartLoadWithRequest({ url: `${shop}#top`, isTopFrame: true });
      if (!isEventFirst) expect(navigate()).toBe(false);
      await send('url_clicked', { url: shop });
      if (isEventFirst) expect(navigate()).toBe(false);
      await passTime(2_000);
      expect(openedUrls).toEqual([shop]);
      expect('html' in webView().source).toBe(true);
    }
  });

  test('delays other navigations in the web view by a second, but not frames or its own page', async () => {
    await render(offers());
    const ask = (url: string, isTopFrame = true) => webView().onShouldStartLoadWithRequest({ url, isTopFrame });
    expect(['about:blank', 'https://offers.example', 'https://offers.example/'].map((url) => ask(url))).toEqual(
      Array(3).fill(true),
    );
    expect(ask('https://frame.example/', false)).toBe(true);
    const terms = 'https://offers.example/terms';
    expect(ask(terms)).toBe(false);
    await passTime(1_100);
    expect(webView().source).toEqual({ uri: terms });
    expect(ask(terms)).toBe(true);
  });

  test('drops a pending navigation when the unit is removed or shows another user', async () => {
    await render(offers());
    webView().onShouldStartLoadWithRequest({ url: 'https://offers.example/terms', isTopFrame: true });
    await render(offers({ user: { placement: 'cart' } }));
    await passTime(2_000);
    expect(page().html).toContain('"cart"');
  });

  test('opens no URLs of other schemes, and reports a URL that cannot be opened as an error', async () => {
    const onError = vi.fn<NonNullable<PerkwireOffersProps['onError']>>();
    await render(offers({ onError }));
    for (const url of ['javascript:alert(1)', 'tel:1', 7]) await send('url_clicked', { url });
    expect([openedUrls, onError.mock.calls]).toEqual([[], []]);
    await send('url_clicked', { url: 'http://advertiser.example/' });
    expect(onError.mock.calls).toEqual([[expect.objectContaining({ kind: 'render_error' })]]);
  });

  test('reports offers, perks, errors, the end and every event', async () => {
    const called: unknown[] = [];
    const note =
      (name: string) =>
      (...args: unknown[]) =>
        void called.push([name, ...args]);
    await render(
      offers({
        onOffersFound: note('found'),
        onPerksConfirmed: note('perks'),
        onError: note('error'),
        onClosed: note('closed'),
        onEvent: (event) => note('event')(event.event),
      }),
    );
    await send('ads_found', { offerCount: 2 });
    await send('usp_confirmed', { selected: [4, 'x', 5] });
    await send('error', { kind: 'server_error', message: 'The service responded with 500.' });
    await send('closed_ads', { current: 1, total: 2 });
    await act(async () => webView().onMessage({ nativeEvent: { data: 'not JSON' } }));
    expect(called).toEqual([
      ['event', 'ads_found'],
      ['found', 2],
      ['perks', [4, 5]],
      ['event', 'usp_confirmed'],
      ['error', { kind: 'server_error', message: 'The service responded with 500.' }],
      ['event', 'error'],
      ['event', 'closed_ads'],
      ['closed'],
    ]);
  });

  test('confirms perks on request once the offers have loaded', async () => {
    await render(offers());
    await render(offers({ confirm: true }));
    expect(injected).toEqual([]);
    await send('ads_found', { offerCount: 2 });
    expect(injected).toEqual(['Ad.confirm(); true;']);
    await render(offers({ confirm: false }));
    await render(offers({ confirm: true }));
    await render(offers({ confirm: true, style: { flex: 1 } }));
    expect(injected).toHaveLength(2);
  });
});
