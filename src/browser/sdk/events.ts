import type { AdEventArguments, AdEventPayloads } from '../../../packages/client/src/sdk.ts';
import type { Bridge } from './bridge.ts';
import { describeError } from './errors.ts';
import type { Callback, Emit, Listener } from './types.ts';

export type Emitter = {
  emit: Emit;
  /** Delivers what found neither a callback nor a host app so far. */
  flush: () => void;
};

/** Events that wait for someone to hear them (count). */
const maxWaitingEvents = 50;

/** How often, and how many times in all, a page without host looks for one. */
const lookMs = 250;
const maxLooks = 60;

/**
 * Delivers each event once: to the page's callback, or where there is none to the host app by its bridge. What the
 * callback throws becomes an `error` event, once. `extra`: further members of every payload.
 */
export function createEmitter(callbackOf: () => Callback | undefined, bridge: Bridge, extra: object = {}): Emitter {
  const waiting: AdEventArguments[] = [];
  const blocked = new Set<string>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let looks = 0;

  /** A host app may become ready later, with or without an event that tells it. */
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
    // A policy blocks each image and each beacon alike: one error tells it.
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
