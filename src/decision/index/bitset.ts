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

/** The first member from `from` on and before `to`; -1: none. */
export function nextBit(bits: Bits, from: number, to: number): number {
  let word = from >>> 5;
  let rest = from < to ? (bits[word] as number) & (-1 << (from & 31)) : 0;
  const lastWord = (to - 1) >>> 5;
  while (rest === 0) {
    word += 1;
    if (word > lastWord || from >= to) return -1;
    rest = bits[word] as number;
  }
  const found = (word << 5) + 31 - Math.clz32(rest & -rest);
  return found < to ? found : -1;
}
