import { randomInt } from 'node:crypto';

/** Set of values seen so far, for detecting duplicates. */
export type ValueSet = {
  /**
   * Adds a value given as a byte range.
   * @returns whether the value is new
   */
  add: (bytes: Uint8Array, start: number, end: number) => boolean;
  /** Returns the number of distinct values. */
  size: () => number;
};

const maxLoad = 0.6;

/**
 * Number of parts that the set is split into. Each part grows separately, so that rehashing never blocks the event loop
 * for all values at once.
 */
const parts = 256;

/**
 * Creates a set that stores 64-bit hashes in typed arrays. Ten million codes take 128 MB and two seconds, whereas a
 * `Set` of strings takes 1 GB. The hash key is random. The probability of any collision among ten million codes is 1 in
 * 300,000.
 */
export function createValueSet(): ValueSet {
  const seeds = [randomInt(2 ** 32), randomInt(2 ** 32)] as const;
  const puts = Array.from({ length: parts }, createPart);
  let count = 0;

  return {
    size: () => count,
    add: (bytes, start, end) => {
      let a = seeds[0] ^ (end - start);
      let b = seeds[1];
      for (let at = start; at < end; at += 1) {
        const byte = bytes[at] as number;
        a = Math.imul(a ^ byte, 2654435761);
        a = (a << 13) | (a >>> 19);
        b = Math.imul(b ^ byte, 1597334677);
        b = (b << 17) | (b >>> 15);
      }
      a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
      b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
      // In the table, zero marks a free slot, so a zero hash is replaced with 1.
      const isNew = (puts[(b >>> 24) % parts] as Put)(a >>> 0 || 1, b >>> 0);
      if (isNew) count += 1;
      return isNew;
    },
  };
}

/**
 * Adds a hash, given as two 32-bit halves.
 * @returns whether the hash is new
 */
type Put = (high: number, low: number) => boolean;

function createPart(): Put {
  let capacity = 1 << 8;
  let slots = new Uint32Array(2 * capacity);
  let count = 0;

  function put(high: number, low: number): boolean {
    for (let at = low & (capacity - 1); ; at = (at + 1) & (capacity - 1)) {
      const slotHigh = slots[2 * at] as number;
      if (slotHigh === 0) {
        slots[2 * at] = high;
        slots[2 * at + 1] = low;
        return true;
      }
      if (slotHigh === high && slots[2 * at + 1] === low) return false;
    }
  }

  function grow(): void {
    const old = slots;
    capacity *= 2;
    slots = new Uint32Array(2 * capacity);
    for (let at = 0; at < old.length; at += 2) if (old[at] !== 0) put(old[at] as number, old[at + 1] as number);
  }

  return (high, low) => {
    if (!put(high, low)) return false;
    count += 1;
    if (count > capacity * maxLoad) grow();
    return true;
  };
}
