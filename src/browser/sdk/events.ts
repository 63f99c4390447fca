import type { AdEventArguments } from '../../../packages/client/src/sdk.ts';
import type { Bridge } from './bridge.ts';
import { describeError } from './errors.ts';
import type { Callback, Emit } from './types.ts';

/** Emits to the page and to the host app. What the page's callback throws becomes an `error` event, once. */
export function createEmitter(callbackOf: () => Callback | undefined, bridge: Bridge): Emit {
  const emit: Emit = (event, payload) => {
    bridge.post(event, payload);
    try {
      const callback = callbackOf();
      if (typeof callback === 'function') callback(...([event, payload] as unknown as AdEventArguments));
    } catch (err) {
      if (event !== 'error') emit('error', describeError(err, 'callback_error'));
    }
  };
  return emit;
}
