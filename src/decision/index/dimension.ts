import type { TargetList } from '../../catalog/rules.ts';
import type { Bits, Dimension } from '../eligibility.ts';
import { bitsWith, fullBits, setBit, subtract } from './index-filters.ts';

export type DimensionBuilder = {
  add: (index: number, list: Readonly<TargetList>) => void;
  /** null: no candidate targets this property. */
  build: () => Dimension | null;
};

type Named = { included: number[]; excluded: number[] };

/** @param normalise applied to the values of lists; those of requests are normalised already */
export function createDimension(
  size: number,
  normalise: (value: string) => string = (value) => value,
): DimensionBuilder {
  const byName = new Map<string, Named>();
  const withInclude: number[] = [];

  function named(value: string): Named {
    const key = normalise(value);
    let entry = byName.get(key);
    if (entry === undefined) {
      entry = { included: [], excluded: [] };
      byName.set(key, entry);
    }
    return entry;
  }

  return {
    add: (index, { include, exclude }) => {
      if (include !== undefined) withInclude.push(index);
      for (const value of include ?? []) named(value).included.push(index);
      for (const value of exclude ?? []) named(value).excluded.push(index);
    },
    build: () => {
      if (byName.size === 0 && withInclude.length === 0) return null;
      const otherwise = fullBits(size);
      subtract(otherwise, bitsWith(size, withInclude));
      const byValue = new Map<string, Bits>();
      for (const [value, { included, excluded }] of byName) {
        const bits = otherwise.slice();
        for (const index of included) setBit(bits, index);
        if (excluded.length > 0) subtract(bits, bitsWith(size, excluded));
        byValue.set(value, bits);
      }
      return { byValue, otherwise };
    },
  };
}
