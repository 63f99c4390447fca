import type { TargetList } from '../../catalog/rules/rules.ts';
import { type Bits, drop, emptyBits, fullBits, setBit } from './bitset.ts';

/**
 * Who wants which values of one property of a request, such as its country. For each value that anybody names there is
 * the set of candidates that take it; all other values, and one that is not known, are taken by those who name no
 * values they need.
 */
export type Dimension = { byValue: ReadonlyMap<string, Bits>; otherwise: Bits };

export const bitsOf = ({ byValue, otherwise }: Dimension, value: string | null): Bits =>
  (value === null ? undefined : byValue.get(value)) ?? otherwise;

export type DimensionBuilder = {
  add: (index: number, list: Readonly<TargetList>) => void;
  /** null: nobody asks for anything. */
  build: () => Dimension | null;
};

/** Values are compared as `normalise` leaves them. */
export function createDimension(
  size: number,
  normalise: (value: string) => string = (value) => value,
): DimensionBuilder {
  const wanted = new Map<string, { included: number[]; excluded: number[] }>();
  const needy: number[] = [];

  function named(value: string): { included: number[]; excluded: number[] } {
    const key = normalise(value);
    let entry = wanted.get(key);
    if (entry === undefined) {
      entry = { included: [], excluded: [] };
      wanted.set(key, entry);
    }
    return entry;
  }

  return {
    add: (index, { include, exclude }) => {
      if (include !== undefined) needy.push(index);
      for (const value of include ?? []) named(value).included.push(index);
      for (const value of exclude ?? []) named(value).excluded.push(index);
    },
    build: () => {
      if (wanted.size === 0 && needy.length === 0) return null;
      const otherwise = fullBits(size);
      drop(otherwise, bitsWith(size, needy));
      const byValue = new Map<string, Bits>();
      for (const [value, { included, excluded }] of wanted) {
        const bits = otherwise.slice();
        for (const index of included) setBit(bits, index);
        if (excluded.length > 0) drop(bits, bitsWith(size, excluded));
        byValue.set(value, bits);
      }
      return { byValue, otherwise };
    },
  };
}

export function bitsWith(size: number, members: Iterable<number>): Bits {
  const bits = emptyBits(size);
  for (const index of members) setBit(bits, index);
  return bits;
}
