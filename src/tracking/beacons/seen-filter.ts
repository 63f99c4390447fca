import type { TrackedEvent } from '../../event-log/tracked-event.ts';

/** Guesses which events were added before: it forgets, and once in thousands it is wrong. */
export type SeenFilter = {
  /** Whether the event was added before; adds it. */
  testAndAdd: (event: Pick<TrackedEvent, 'sessionId' | 'claims' | 'kind'>) => boolean;
};

/** A table of 32-bit hashes; an event replaces the one in its slot. A million are 4 MB, and 40 s at full load. */
export function createSeenFilter(slots = 2 ** 20): SeenFilter {
  const hashes = new Uint32Array(slots);
  return {
    testAndAdd: ({ sessionId, claims, kind }) => {
      const hash = mixText(Math.imul(mixText(seed, sessionId, randomPartStart) ^ claims.offerId, prime), kind) >>> 0;
      const slot = hash % slots;
      const wasSeen = hashes[slot] === hash;
      hashes[slot] = hash;
      return wasSeen;
    },
  };
}

/* FNV-1a. */
const seed = 0x811c9dc5;
const prime = 0x01000193;

/** Where the random part of a session id starts (characters); the time is before it. */
const randomPartStart = 14;

function mixText(hash: number, text: string, from = 0): number {
  let mixed = hash;
  for (let at = from; at < text.length; at += 1) mixed = Math.imul(mixed ^ text.charCodeAt(at), prime);
  return mixed;
}
