/** A set of candidates: one bit for each, by its index. */
export type Bits = Uint32Array;

export const emptyBits = (size: number): Bits => new Uint32Array((size + 31) >>> 5);

export function fullBits(size: number): Bits {
  const bits = emptyBits(size).fill(0xffffffff);
  if ((size & 31) !== 0) bits[bits.length - 1] = 2 ** (size & 31) - 1;
  return bits;
}

export function bitsWith(size: number, members: Iterable<number>): Bits {
  const bits = emptyBits(size);
  for (const index of members) setBit(bits, index);
  return bits;
}

export const setBit = (bits: Bits, index: number): void => {
  bits[index >>> 5] = (bits[index >>> 5] as number) | (1 << (index & 31));
};

export const clearBit = (bits: Bits, index: number): void => {
  bits[index >>> 5] = (bits[index >>> 5] as number) & ~(1 << (index & 31));
};

export const hasBit = (bits: Bits, index: number): boolean =>
  (((bits[index >>> 5] as number) >>> (index & 31)) & 1) === 1;

/** Removes from `bits` what `other` has not. */
export function intersect(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) & (other[word] as number);
}

/** Removes from `bits` what `other` has. */
export function subtract(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) & ~(other[word] as number);
}

/** The member after `skipped` others from `from` on and before `to`; -1: none. */
export function nextBit(bits: Bits, from: number, to: number, skipped = 0): number {
  if (from >= to) return -1;
  let word = from >>> 5;
  let rest = (bits[word] as number) & (-1 << (from & 31));
  let left = skipped;
  for (let count = countOnes(rest); count <= left; count = countOnes(rest)) {
    left -= count;
    word += 1;
    if (word << 5 >= to) return -1;
    rest = bits[word] as number;
  }
  for (; left > 0; left--) rest &= rest - 1; // without the lowest member
  const found = (word << 5) + 31 - Math.clz32(rest & -rest);
  return found < to ? found : -1;
}

/** Number of members from `from` on and before `to`. */
export function countBits(bits: Bits, from: number, to: number): number {
  if (from >= to) return 0;
  const last = (to - 1) >>> 5;
  let count = -countOnes((bits[from >>> 5] as number) & ~(-1 << (from & 31)));
  for (let word = from >>> 5; word <= last; word++) count += countOnes(bits[word] as number);
  return (to & 31) === 0 ? count : count - countOnes((bits[last] as number) & (-1 << (to & 31)));
}

/** Ones of a word, added in parallel (Hacker's Delight 5-1). */
function countOnes(word: number): number {
  let ones = word - ((word >>> 1) & 0x55555555);
  ones = (ones & 0x33333333) + ((ones >>> 2) & 0x33333333);
  return Math.imul((ones + (ones >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
