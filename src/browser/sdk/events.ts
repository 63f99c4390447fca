import type { AdEventArguments, AdEventPayloads } from '../../../packages/client/src/sdk.ts';
import type { Bridge } from './bridge.ts';
import { describeError } from './errors.ts';
import type { Callback, Emit, Listener } from './types.ts';

export type Emitter = {
  emit: Emit;
  /** Delivers events that found neither a callback nor a host app so far. */
  flush: () => void;
};

/** Maximum number of waiting events. */
const maxWaitingEvents = 50;

/** Interval and maximum number of checks for a host app. */
const lookMs = 250;
const maxLooks = 60;

/**
 * Delivers each event once: to the page's callback, or without one to the host app by its bridge. An exception of the
 * callback becomes an `error` event, once. `extra`: further members of every payload.
 */
export function createEmitter(callbackOf: () => Callback | undefined, bridge: Bridge, extra: object = {}): Emitter {
  const waiting: AdEventArguments[] = [];
  const blocked = new Set<string>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let looks = 0;

  /** Keeps an event, because a host app may become ready later, with or without an event that announces it. */
  const wait = (event: AdEventArguments): void => {
    if (waiting.length < maxWaitingEvents) waiting.push(event);
    if (timer === undefined) timer = setInterval(look, lookMs);
  };

  const look = (): void => {
    if (bridge.isThere() || typeof callbackOf() === 'function') flush();
    if (waiting.length > 0 && ++looks < maxLooks) return;
    clearInterval(timer);
    timer = undefined;
  };

  const flush = (): void => {
    for (const [event, payload] of waiting.splice(0)) emit(event, payload);
  };

  const emit: Emit = (event, members) => {
    const payload = { ...members, ...extra };
    // A policy blocks all images and beacons of an origin, so report it once.
    const { kind, message = '' } = payload as Partial<AdEventPayloads['error']>;
    if (kind === 'blocked' && blocked.size === blocked.add(message).size) return undefined;
    const callback = callbackOf();
    const isHeard = typeof callback === 'function' || bridge.isThere();
    if (!isHeard) {
      wait([event, payload] as unknown as AdEventArguments);
      return undefined;
    }
    if (waiting.length > 0) flush();
    if (typeof callback === 'function') {
      bridge.message(event, payload);
      try {
        return (callback as Listener)(...([event, payload] as unknown as AdEventArguments));
      } catch (err) {
        if (event !== 'error') emit('error', describeError(err, 'callback_error'));
      }
    } else bridge.post(event, payload);
    return undefined;
  };

  bridge.onReady(flush);
  return { emit, flush };
}
