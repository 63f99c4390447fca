import {
  type AdCallback,
  clickedUrlOf,
  type FetchOffersResponse,
  injectApiResponse,
  NavigationGuard,
  parseAdMessage,
  renderCheckoutHtml,
} from '@perkwire/client';
import { createElement, type ReactElement, useEffect, useMemo, useRef, useState } from 'react';
import { Linking } from 'react-native';
import { WebView, type WebViewProps } from 'react-native-webview';
import {
  dispatch,
  type EventHandlers,
  offersIn,
  originOf,
  type PerkwireService,
  type PerkwireUser,
  sdkUrlOf,
} from './service.ts';
import { checkoutTemplate } from './templates.ts';

export type PerkwireOffersProps = EventHandlers & {
  service: PerkwireService;
  user: PerkwireUser;
  /**
   * `fetchOffers` result for this `user`, as an object or JSON text. If it is absent, prefetched offers are shown, or
   * else offers are fetched. A new response reloads the page.
   */
  response?: FetchOffersResponse | string;
  /** Confirms the selected perks when this prop changes to true. Set it when the order is placed. */
  confirm?: boolean;
  /** Called with the number of offers. If the number is 0, nothing is shown. */
  onOffersFound?: (count: number) => void;
  onClosed?: () => void;
  /** Opens a click-out outside the app. Default: `Linking.openURL`. */
  openUrl?: (url: string) => unknown;
  style?: WebViewProps['style'];
};

/** Script that confirms the selection. Web view scripts must evaluate to `true`. */
const confirmScript = 'Ad.confirm(); true;';

/** Web view that shows offers at checkout (docs/reference/web-sdk.md#web-views). Click-outs open outside the app. */
export function PerkwireOffers(props: PerkwireOffersProps): ReactElement {
  const { service, user, response, confirm = false, style } = props;
  const webView = useRef<WebView>(null);
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  // Compare responses by content, because each render passes new objects.
  const responseText = useMemo(() => (typeof response === 'object' ? JSON.stringify(response) : response), [response]);
  const key = JSON.stringify([service, user, responseText]);
  const guard = useNavigation(originOf(service), key);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for what it holds
  const page = useMemo(() => {
    const mode = responseText === undefined ? 'sdk' : 'api';
    const options = { sdkId: service.sdkId, sdkCdnUrl: sdkUrlOf(service), mode, user } as const;
    return { html: renderCheckoutHtml(checkoutTemplate, options), baseUrl: originOf(service) };
  }, [key]);

  const isThere = useConfirmation(confirm, key, () => webView.current?.injectJavaScript(confirmScript));

  const handle = (event: AdCallback): void => {
    const { openUrl = (url: string) => Linking.openURL(url), onOffersFound, onClosed } = latest.current;
    const url = event.event === 'url_clicked' ? clickedUrlOf(event.payload) : null;
    if (url !== null) {
      guard.opened(url);
      void Promise.resolve(openUrl(url)).catch((err: unknown) => {
        latest.current.onError?.({ kind: 'render_error', message: `${url} cannot be opened: ${String(err)}` });
      });
    }
    dispatch(event, latest.current);
    const count = offersIn(event);
    if (count !== null) {
      isThere(count > 0);
      onOffersFound?.(count);
    }
    if (event.event === 'closed_ads') onClosed?.();
  };

  return createElement(WebView, {
    // Use a new key for each response to force a reload. A web view does not reload identical HTML, and the response is
    // only injected after the page has loaded.
    key: responseText ?? null,
    ref: webView,
    source: guard.visited === null ? page : { uri: guard.visited },
    style,
    originWhitelist: ['*'],
    javaScriptEnabled: true,
    domStorageEnabled: true,
    // Open links that target a new window in this web view, so that they pass through the navigation guard like all
    // other links.
    setSupportMultipleWindows: false,
    onLoadEnd: () => {
      if (response !== undefined && guard.visited === null)
        webView.current?.injectJavaScript(injectApiResponse(response));
    },
    onError: ({ nativeEvent }) =>
      latest.current.onError?.({ kind: 'connection_error', message: nativeEvent.description }),
    onMessage: ({ nativeEvent }) => {
      const event = parseAdMessage(nativeEvent.data);
      if (event !== null) handle(event);
    },
    onShouldStartLoadWithRequest: guard.mayLoad,
  });
}

type Navigation = {
  /** URL that the user navigated to from the web view page. Null while that page is shown. */
  visited: string | null;
  opened: (url: string) => void;
  mayLoad: (request: { url: string; isTopFrame: boolean }) => boolean;
};

/**
 * Handles navigation in the web view. A web view needs an immediate decision, but the guard waits a second, because
 * `url_clicked` may arrive after the navigation. Every navigation is therefore cancelled first, and repeated if the
 * guard allows it.
 */
function useNavigation(origin: string, key: string): Navigation {
  const guard = useRef(new NavigationGuard()).current;
  const present = useRef(key);
  const [visited, setVisited] = useState<{ key: string; url: string } | null>(null);
  useEffect(() => {
    present.current = key;
    return () => {
      present.current = '';
    };
  }, [key]);
  const url = visited?.key === key ? visited.url : null;
  return {
    visited: url,
    opened: (opened) => guard.opened(opened),
    mayLoad: ({ url: target, isTopFrame }) => {
      const isOwnPage = target === 'about:blank' || target === origin || target === `${origin}/`;
      if (isOwnPage || isTopFrame === false || target === url) return true;
      void guard.decide(target).then((decision) => {
        if (decision === 'allow' && present.current === key) setVisited({ key, url: target });
      });
      return false;
    },
  };
}

/**
 * Confirms the perks once `confirm` is true and the offers are loaded.
 * @returns a function that takes whether the offers are loaded
 */
function useConfirmation(confirm: boolean, key: string, run: () => void): (isThere: boolean) => void {
  const state = useRef({ key, last: confirm, isThere: false, isPending: false });
  if (state.current.key !== key) state.current = { key, last: confirm, isThere: false, isPending: false };
  // biome-ignore lint/correctness/useExhaustiveDependencies: acts on the change of `confirm` alone
  useEffect(() => {
    const { last, isThere } = state.current;
    state.current.last = confirm;
    if (!confirm || last) return;
    if (isThere) run();
    else state.current.isPending = true;
  }, [confirm]);
  return (isThere) => {
    state.current.isThere = isThere;
    if (!isThere || !state.current.isPending) return;
    state.current.isPending = false;
    run();
  };
}
