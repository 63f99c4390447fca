import { all, on } from '../compat.ts';
import { tryCall } from '../try-call.ts';

/** Events that the page dispatches before its offers are loaded. */
export type EarlyEvents = {
  has: (name: string) => boolean;
  stop: () => void;
};

/** Sequence number of the last occurrence of each event. */
const lastHeard = new Map<string, number>();
let heard = 0;

/** Number of units that are waiting for their offers. */
let waiting = 0;
let stopRecording = (): void => {};

/**
 * Starts recording the events that the page dispatches on `window` and `document`. All events are recorded, because the
 * theme may define which event confirms perks, and the theme is only known once the offers are loaded. Events named in
 * `likely` are recorded on any target.
 */
export function rememberEvents(likely: readonly unknown[]): EarlyEvents {
  const since = heard;
  if (waiting++ === 0) stopRecording = record();
  const names = likely.filter((name): name is string => typeof name === 'string');
  const stops = names.map((name) => on(window, name, () => void lastHeard.set(name, ++heard), true));
  return {
    has: (name) => (lastHeard.get(name) ?? 0) > since,
    stop: () => {
      all(stops)();
      if (--waiting === 0) stopRecording();
    },
  };
}

/**
 * Replaces `dispatchEvent` of `window` and `document`.
 * @returns a function that restores it
 */
function record(): () => void {
  return all(
    [window, document].map((target) => {
      const dispatch = target.dispatchEvent;
      const remember = (event: Event): boolean => {
        lastHeard.set(event.type, ++heard);
        return dispatch.call(target, event);
      };
      const own = Object.getOwnPropertyDescriptor(target, 'dispatchEvent');
      tryCall(() => {
        target.dispatchEvent = remember;
      });
      return () => {
        // Another script has since wrapped this function and still calls it, so leave it in place.
        if (target.dispatchEvent !== remember) return;
        if (own) target.dispatchEvent = dispatch;
        else delete (target as Partial<EventTarget>).dispatchEvent;
      };
    }),
  );
}
