import type { AdEventArguments, AdEventPayloads } from '../../../packages/client/src/sdk.ts';
import type { Bridge } from './bridge.ts';
import { describeError } from './errors.ts';
import type { Callback, Emit, Listener } from './types.ts';

export type Emitter = {
  emit: Emit;
  /** Delivers queued events, which were emitted before there was a callback or a host app. */
  flush: () => void;
};

/** Maximum number of queued events. */
const maxWaitingEvents = 50;

/** Interval for checking whether a host app is present, in milliseconds, and maximum number of checks. */
const pollMs = 250;
const maxPolls = 60;

/**
 * Creates an emitter that delivers each event once: to the page's callback, or to the host app through the bridge if
 * there is no callback. An exception in the callback is emitted once, as an `error` event. `extra` is added to every
 * payload.
 */
export function createEmitter(callbackOf: () => Callback | undefined, bridge: Bridge, extra: object = {}): Emitter {
  const waiting: AdEventArguments[] = [];
  const blocked = new Set<string>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let polls = 0;

  /** Queues an event, because a host app may become ready later. Not every host app announces this with an event. */
  const wait = (event: AdEventArguments): void => {
    if (waiting.length < maxWaitingEvents) waiting.push(event);
    if (timer === undefined) timer = setInterval(poll, pollMs);
  };

  const poll = (): void => {
    if (bridge.isThere() || typeof callbackOf() === 'function') flush();
    if (waiting.length > 0 && ++polls < maxPolls) return;
    clearInterval(timer);
    timer = undefined;
  };

  const flush = (): void => {
    for (const [event, payload] of waiting.splice(0)) emit(event, payload);
  };

  const emit: Emit = (event, members) => {
    const payload = { ...members, ...extra };
    // Report a blocked origin only once, because the policy blocks all of its images and beacons.
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
