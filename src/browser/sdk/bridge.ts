import { handlerNames } from './legacy-names.ts';
import type { EventName } from './types.ts';

type Payload = Record<string, unknown>;

/** The ways a host app may listen from its web view (docs/interface.md#web-sdk). */
type HostWindow = Window & {
  flutter_inappwebview?: { callHandler?: (name: string, event: string, payload: Payload) => unknown };
  ReactNativeWebView?: { postMessage: (message: string) => void };
  webkit?: { messageHandlers?: Record<string, { postMessage: (message: unknown) => void } | undefined> };
  Android?: Record<string, ((event: string, json: string) => void) | undefined>;
};

export type Bridge = {
  /** Whether the page lives in a host app, which then opens links itself. */
  present: () => boolean;
  post: (event: EventName, payload: Payload) => void;
};

/** Events kept for a Flutter host that is not ready yet (count). */
const maxWaiting = 50;

export function createBridge(host: HostWindow): Bridge {
  const waiting: [EventName, Payload][] = [];
  host.addEventListener('flutterInAppWebViewPlatformReady', () => {
    for (const [event, payload] of waiting.splice(0)) quietly(() => callFlutter(host, event, payload));
  });

  return {
    present: () =>
      host.flutter_inappwebview !== undefined ||
      host.ReactNativeWebView !== undefined ||
      webkitOf(host) !== undefined ||
      androidOf(host) !== undefined,
    post: (event, payload) => {
      quietly(() => {
        if (!callFlutter(host, event, payload) && waiting.length < maxWaiting) waiting.push([event, payload]);
      });
      quietly(() => host.ReactNativeWebView?.postMessage(JSON.stringify({ ...payload, name: event })));
      quietly(() => webkitOf(host)?.postMessage({ ...payload, name: event }));
      quietly(() => {
        const name = androidOf(host);
        if (name !== undefined) host.Android?.[name]?.(event, JSON.stringify(payload));
      });
    },
  };
}

/** An app has registered one of the names; a call of the other is ignored by Flutter. */
function callFlutter(host: HostWindow, event: EventName, payload: Payload): boolean {
  const flutter = host.flutter_inappwebview;
  if (typeof flutter?.callHandler !== 'function') return false;
  for (const name of handlerNames)
    quietly(() => Promise.resolve(flutter.callHandler?.(name, event, payload)).catch(() => {}));
  return true;
}

const webkitOf = (host: HostWindow) => {
  const handlers = host.webkit?.messageHandlers;
  return handlers === undefined
    ? undefined
    : handlerNames.map((name) => handlers[name]).find((handler) => handler !== undefined);
};

/** Methods of a Java object must be called on it, so the name is answered. */
const androidOf = (host: HostWindow) => handlerNames.find((name) => typeof host.Android?.[name] === 'function');

/** A host app that fails must not stop the unit. */
function quietly(work: () => unknown): void {
  try {
    work();
  } catch {}
}
