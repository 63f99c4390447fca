import { setMaxListeners } from 'node:events';
import type { Claimed } from '../claim/claim.ts';
import type { Settlement } from '../settle/settle.ts';
import { type AttemptTools, attempt } from './attempt.ts';

/** The calls in flight of one worker. */
export type Calls = {
  /** Makes an attempt; its settlement goes to `onEnd`. */
  start: (claimed: Claimed) => void;
  /** Waits for all calls to end, and cancels them after so many milliseconds. */
  drain: (limitMs: number) => Promise<void>;
};

export function createCalls(tools: AttemptTools, onEnd: (settlement: Settlement) => void): Calls {
  const cancel = new AbortController();
  setMaxListeners(0, cancel.signal); // one for each call in flight
  const inFlight = new Set<Promise<void>>();
  return {
    start: (claimed) => {
      const call = attempt(claimed, tools, cancel.signal).then((settlement) => {
        inFlight.delete(call);
        onEnd(settlement);
      });
      inFlight.add(call);
    },
    drain: async (limitMs) => {
      const timer = setTimeout(() => cancel.abort(), limitMs);
      await Promise.all(inFlight);
      clearTimeout(timer);
    },
  };
}
