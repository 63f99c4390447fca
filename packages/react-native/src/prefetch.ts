import { parseAdMessage, renderPrefetchHtml } from '@perkwire/client';
import { createElement, type ReactElement, useEffect, useMemo, useRef } from 'react';
import { WebView } from 'react-native-webview';
import {
  dispatch,
  type EventHandlers,
  offersIn,
  originOf,
  type PerkwireService,
  type PerkwireUser,
  sdkUrlOf,
} from './service.ts';
import { prefetchTemplate } from './templates.ts';

export type PerkwirePrefetchProps = Omit<EventHandlers, 'onPerksConfirmed'> & {
  service: PerkwireService;
  user: PerkwireUser;
  /** Called once with the number of offers available at checkout. If it is 0, the offer section can be skipped. */
  onResult: (count: number) => void;
  /** Timeout in milliseconds. If no result arrives in time, 0 is reported. Default: 8,000. */
  timeoutMs?: number;
};

const hidden = { width: 0, height: 0, flex: 0 };

/**
 * Hidden web view that loads offers before checkout and stores them for `PerkwireOffers`
 * (docs/reference/web-sdk.md#web-views). It stays active as long as this component is rendered.
 */
export function PerkwirePrefetch(props: PerkwirePrefetchProps): ReactElement {
  const { service, user, timeoutMs = 8_000 } = props;
  const latest = useRef(props);
  const isAnswered = useRef(false);
  useEffect(() => {
    latest.current = props;
  });

  const answer = (count: number): void => {
    if (isAnswered.current) return;
    isAnswered.current = true;
    latest.current.onResult(count);
  };

  // Compare the service and the user by content, because each render passes new objects.
  const key = JSON.stringify([service, user]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for what it holds
  const source = useMemo(() => {
    const html = renderPrefetchHtml(prefetchTemplate, { sdkId: service.sdkId, sdkCdnUrl: sdkUrlOf(service), user });
    return { html, baseUrl: originOf(service) };
  }, [key]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each page answers once
  useEffect(() => {
    isAnswered.current = false;
    const timer = setTimeout(() => answer(0), timeoutMs);
    return () => clearTimeout(timer);
  }, [key, timeoutMs]);

  return createElement(WebView, {
    source,
    containerStyle: hidden,
    originWhitelist: ['*'],
    javaScriptEnabled: true,
    domStorageEnabled: true,
    onError: () => answer(0),
    onMessage: ({ nativeEvent }) => {
      const event = parseAdMessage(nativeEvent.data);
      if (event === null) return;
      dispatch(event, latest.current);
      const count = offersIn(event);
      if (count !== null) answer(count);
    },
  });
}
