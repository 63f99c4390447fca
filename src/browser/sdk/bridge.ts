import { toJson } from './json.ts';
import { dismiss, handlerNames, isDialogApp } from './legacy-names.ts';
import { tryCall } from './try-call.ts';
import type { EventName } from './types.ts';

/** Interfaces through which a host app can receive events from its web view (docs/reference/web-sdk.md). */
type HostWindow = Window & {
  flutter_inappwebview?: { callHandler?: (name: string, event: string, payload: object) => unknown };
  ReactNativeWebView?: { postMessage: (message: string) => void };
  webkit?: { messageHandlers?: Record<string, { postMessage: (message: unknown) => void } | undefined> };
  Android?: Record<string, ((event: string, json: string) => void) | undefined>;
};

export type Bridge = {
  /**
   * Posts an event to the React Native app, if there is one. React Native apps receive every event.
   * @returns whether React Native is present
   */
  message: (event: EventName, payload: object) => boolean;
  /**
   * Posts an event to React Native, and to the first other host app interface that is present.
   * @returns whether any host app is present
   */
  post: (event: EventName, payload: object) => boolean;
  /** Returns whether a host app is present. */
  isThere: () => boolean;
  /** Calls `work` when a host app that was missing at startup becomes ready. */
  onReady: (work: () => void) => void;
};

const readyEvent = 'flutterInAppWebViewPlatformReady';

/**
 * Creates a bridge to the host app. Calls are wrapped in `tryCall`, because a failing host app must not stop the unit.
 * Flutter does not reveal which handlers an app registered. If the page uses the legacy names (`oldPage`), the app is
 * assumed to use them too.
 */
export function createBridge(host: HostWindow, oldPage = false): Bridge {
  const [name, otherName] = oldPage ? [handlerNames[1], handlerNames[0]] : handlerNames;
  const flutter = () => host.flutter_inappwebview;

  function callFlutter(event: EventName, payload: object): void {
    const call = async (handler = ''): Promise<unknown> => flutter()?.callHandler?.(handler, event, payload);
    call(name)
      .catch(() => call(otherName))
      // The host app was not ready and did not receive the call, so repeat the call once the app is ready.
      .catch(() => host.addEventListener(readyEvent, () => void call(name).catch(() => {}), { once: true }));
  }

  const message: Bridge['message'] = (event, payload) => {
    tryCall(() => host.ReactNativeWebView?.postMessage(toJson({ ...payload, name: event })));
    return host.ReactNativeWebView !== undefined;
  };

  return {
    message,
    post: (event, payload) => {
      const messaged = message(event, payload);
      const android = androidOf(host);
      const dismissed = dismiss(host.Android, event);
      if (typeof flutter()?.callHandler === 'function') callFlutter(event, payload);
      else if (webkitOf(host) !== undefined) tryCall(() => webkitOf(host)?.postMessage({ ...payload, name: event }));
      else if (android !== undefined) tryCall(() => host.Android?.[android]?.(event, toJson(payload)));
      else return messaged || dismissed;
      return true;
    },
    isThere: () =>
      host.ReactNativeWebView !== undefined ||
      typeof flutter()?.callHandler === 'function' ||
      webkitOf(host) !== undefined ||
      androidOf(host) !== undefined ||
      isDialogApp(host.Android),
    onReady: (work) => host.addEventListener(readyEvent, work),
  };
}

const webkitOf = (host: HostWindow) => {
  const handlers = host.webkit?.messageHandlers;
  return handlers && handlerNames.map((name) => handlers[name]).find((handler) => handler !== undefined);
};

/** Returns the name of the Android handler method. The method must be called on its Java object. */
const androidOf = (host: HostWindow) => handlerNames.find((name) => typeof host.Android?.[name] === 'function');
