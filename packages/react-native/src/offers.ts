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
   * Result of `fetchOffers` for this `user`, or its JSON. Absent: prefetched offers, or offers fetched now. A new
   * response is shown in a new page.
   */
  response?: FetchOffersResponse | string;
  /** Confirms the selected perks when it becomes true. Set it when the order is placed. */
  confirm?: boolean;
  /** Receives the number of offers; with 0, nothing is shown. */
  onOffersFound?: (count: number) => void;
  onClosed?: () => void;
  /** Opens a click-out outside of the app. Default: `Linking.openURL`. */
  openUrl?: (url: string) => unknown;
  style?: WebViewProps['style'];
};

/** Confirms the selection; the last value of a script must be `true`. */
const confirmScript = 'Ad.confirm(); true;';

/** Web view that shows offers at checkout (docs/reference/web-sdk.md#web-views). Click-outs open outside of the app. */
export function PerkwireOffers(props: PerkwireOffersProps): ReactElement {
  const { service, user, response, confirm = false, style } = props;
  const webView = useRef<WebView>(null);
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  // Compare by content, because props contain new objects in each rendering.
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
    // A web view does not reload an equal page, and a response is injected after loading.
    key: responseText ?? null,
    ref: webView,
    source: guard.visited === null ? page : { uri: guard.visited },
    style,
    originWhitelist: ['*'],
    javaScriptEnabled: true,
    domStorageEnabled: true,
    // Route links for a new window through the guard, like all others.
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
  /** URL that the web view opened in place of its page. */
  visited: string | null;
  opened: (url: string) => void;
  mayLoad: (request: { url: string; isTopFrame: boolean }) => boolean;
};

/**
 * A web view decides at once, but the guard after a second, because `url_clicked` may arrive after the navigation. So
 * each navigation is cancelled, and repeated if it is allowed.
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
 * Confirms when `confirm` becomes true and the offers are loaded. @returns a function that receives whether they are
 * loaded
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
