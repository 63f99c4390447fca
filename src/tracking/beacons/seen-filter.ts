import type { TrackedEvent } from './insert-events.ts';

/** Tells which events it has met before: a guess, which forgets and, once in thousands, is wrong. */
export type Recent = {
  /** Whether this event was met before. From now on it was. */
  meet: (event: Pick<TrackedEvent, 'sessionId' | 'claims' | 'kind'>) => boolean;
};

/**
 * A table of hashes of 32 bits: an event takes the place of whichever was there. A million are 4 MB, and 40 s at full
 * load.
 */
export function createRecent(places = 2 ** 20): Recent {
  const hashes = new Uint32Array(places);
  return {
    meet: ({ sessionId, claims, kind }) => {
      const hash = mixText(Math.imul(mixText(seed, sessionId, firstOfChance) ^ claims.offerId, prime), kind) >>> 0;
      const place = hash % places;
      const isKnown = hashes[place] === hash;
      hashes[place] = hash;
      return isKnown;
    },
  };
}

const seed = 0x811c9dc5;
const prime = 0x01000193;

/** Where the time in a session id ends. */
const firstOfChance = 14;

function mixText(hash: number, text: string, from = 0): number {
  let mixed = hash;
  for (let at = from; at < text.length; at += 1) mixed = Math.imul(mixed ^ text.charCodeAt(at), prime);
  return mixed;
}
