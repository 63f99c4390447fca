/** Sets of candidates: one bit for each, in their order. */
export type Bits = Uint32Array;

export const emptyBits = (size: number): Bits => new Uint32Array((size + 31) >>> 5);

export function fullBits(size: number): Bits {
  const bits = emptyBits(size).fill(0xffffffff);
  if ((size & 31) !== 0) bits[bits.length - 1] = 2 ** (size & 31) - 1;
  return bits;
}

export const setBit = (bits: Bits, index: number): void => {
  bits[index >>> 5] = (bits[index >>> 5] as number) | (1 << (index & 31));
};

export const hasBit = (bits: Bits, index: number): boolean =>
  (((bits[index >>> 5] as number) >>> (index & 31)) & 1) === 1;

/** Leaves in `bits` what `mask` has, too. */
export function keep(bits: Bits, mask: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) & (mask[word] as number);
}

/** Leaves in `bits` what `mask` does not have. */
export function drop(bits: Bits, mask: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) & ~(mask[word] as number);
}

/** How many members there are from `from` to before `to`. */
export function countBits(bits: Bits, from: number, to: number): number {
  let count = 0;
  for (let word = from >>> 5; word << 5 < to; word++) {
    let rest = bits[word] as number;
    if (word << 5 < from) rest &= -1 << (from & 31);
    if ((word + 1) << 5 > to) rest &= (1 << (to & 31)) - 1;
    rest -= (rest >>> 1) & 0x55555555;
    rest = (rest & 0x33333333) + ((rest >>> 2) & 0x33333333);
    count += Math.imul((rest + (rest >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}

/** The first member at or after `from` and before `to`; -1: none. */
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
