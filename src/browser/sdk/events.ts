import type { AdEventArguments, AdEventPayloads } from '../../../packages/client/src/sdk.ts';
import type { Bridge } from './bridge.ts';
import { describeError } from './errors.ts';
import type { Callback, Emit } from './types.ts';

export type Emitter = {
  emit: Emit;
  /** Delivers what found neither a callback nor a host app so far. */
  flush: () => void;
};

/** Events that wait for someone to hear them (count). */
const maxWaitingEvents = 50;

/**
 * Delivers each event once: to the page's callback, or where there is none to the host app by its bridge. What the
 * callback throws becomes an `error` event, once. `extra`: further members of every payload.
 */
export function createEmitter(callbackOf: () => Callback | undefined, bridge: Bridge, extra: object = {}): Emitter {
  const waiting: AdEventArguments[] = [];
  const blocked = new Set<string>();

  const flush = (): void => {
    for (const [event, payload] of waiting.splice(0)) emit(event, payload);
  };

  const emit: Emit = (event, members) => {
    const payload = { ...members, ...extra };
    // A policy blocks each image and each beacon alike: one error tells it.
    const { kind, message = '' } = payload as Partial<AdEventPayloads['error']>;
    if (kind === 'blocked' && blocked.size === blocked.add(message).size) return undefined;
    const callback = callbackOf();
    if (typeof callback === 'function') {
      if (waiting.length > 0) flush();
      bridge.message(event, payload);
      try {
        return callback(...([event, payload] as unknown as AdEventArguments));
      } catch (err) {
        if (event !== 'error') emit('error', describeError(err, 'callback_error'));
      }
    } else if (!bridge.post(event, payload) && waiting.length < maxWaitingEvents)
      waiting.push([event, payload] as unknown as AdEventArguments);
    return undefined;
  };

  bridge.onReady(flush);
  return { emit, flush };
}
