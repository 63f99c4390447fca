import { handlerNames } from './legacy-names.ts';
import { tryCall } from './try-call.ts';
import type { EventName } from './types.ts';

type Payload = Record<string, unknown>;

/** The interfaces by which a host app can receive events from its web view (docs/interface.md#web-sdk). */
type HostWindow = Window & {
  flutter_inappwebview?: { callHandler?: (name: string, event: string, payload: Payload) => unknown };
  ReactNativeWebView?: { postMessage: (message: string) => void };
  webkit?: { messageHandlers?: Record<string, { postMessage: (message: unknown) => void } | undefined> };
  Android?: Record<string, ((event: string, json: string) => void) | undefined>;
};

export type Bridge = {
  /** Whether the page runs in a host app, which then opens links itself. */
  present: () => boolean;
  post: (event: EventName, payload: Payload) => void;
};

/** Events queued for a Flutter host that is not ready yet (count). */
const maxQueuedEvents = 50;

/** Calls are wrapped in `tryCall`: a host app that fails must not stop the unit. */
export function createBridge(host: HostWindow): Bridge {
  const queue: [EventName, Payload][] = [];
  host.addEventListener('flutterInAppWebViewPlatformReady', () => {
    for (const [event, payload] of queue.splice(0)) tryCall(() => callFlutter(host, event, payload));
  });

  return {
    present: () =>
      host.flutter_inappwebview !== undefined ||
      host.ReactNativeWebView !== undefined ||
      webkitOf(host) !== undefined ||
      androidOf(host) !== undefined,
    post: (event, payload) => {
      tryCall(() => {
        if (!callFlutter(host, event, payload) && queue.length < maxQueuedEvents) queue.push([event, payload]);
      });
      tryCall(() => host.ReactNativeWebView?.postMessage(JSON.stringify({ ...payload, name: event })));
      tryCall(() => webkitOf(host)?.postMessage({ ...payload, name: event }));
      tryCall(() => {
        const name = androidOf(host);
        if (name !== undefined) host.Android?.[name]?.(event, JSON.stringify(payload));
      });
    },
  };
}

/** Flutter ignores calls of a handler that is not registered. */
function callFlutter(host: HostWindow, event: EventName, payload: Payload): boolean {
  const flutter = host.flutter_inappwebview;
  if (typeof flutter?.callHandler !== 'function') return false;
  for (const name of handlerNames)
    tryCall(() => Promise.resolve(flutter.callHandler?.(name, event, payload)).catch(() => {}));
  return true;
}

const webkitOf = (host: HostWindow) => {
  const handlers = host.webkit?.messageHandlers;
  return handlers === undefined
    ? undefined
    : handlerNames.map((name) => handlers[name]).find((handler) => handler !== undefined);
};

/** The method's name: methods of a Java object must be called on that object. */
const androidOf = (host: HostWindow) => handlerNames.find((name) => typeof host.Android?.[name] === 'function');
