import type { TargetList } from '../../catalog/rules.ts';
import type { Bits, Dimension } from '../eligibility.ts';
import { bitsWith, fullBits, setBit, subtract } from './index-filters.ts';

export type DimensionBuilder = {
  add: (index: number, list: Readonly<TargetList>) => void;
  /** Builds the dimension. Returns null if no candidate targets this property. */
  build: () => Dimension | null;
};

type Named = { included: number[]; excluded: number[] };

/**
 * Creates the builder of a dimension.
 * @param normalise normalises the values in targeting lists; request values are already normalised
 * @param isNested whether values are hierarchical, such as `pt-br` within `pt`
 */
export function createDimension(
  size: number,
  normalise: (value: string) => string = (value) => value,
  isNested = false,
): DimensionBuilder {
  const byName = new Map<string, Named>();
  const withInclude: number[] = [];

  function entryOf(value: string): Named {
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
      for (const value of include ?? []) entryOf(value).included.push(index);
      for (const value of exclude ?? []) entryOf(value).excluded.push(index);
    },
    build: () => {
      if (byName.size === 0 && withInclude.length === 0) return null;
      const otherwise = fullBits(size);
      subtract(otherwise, bitsWith(size, withInclude));
      const byValue = new Map<string, Bits>();
      for (const value of byName.keys()) {
        const bits = otherwise.slice();
        const lists = isNested ? partsOf(value).flatMap((part) => byName.get(part) ?? []) : [entryOf(value)];
        for (const { included } of lists) for (const index of included) setBit(bits, index);
        for (const { excluded } of lists) if (excluded.length > 0) subtract(bits, bitsWith(size, excluded));
        byValue.set(value, bits);
      }
      return { byValue, otherwise };
    },
  };
}

/** Splits a tag such as `zh-hant-tw` into `zh-hant-tw`, `zh-hant` and `zh`. */
const partsOf = (value: string): string[] =>
  value.split('-').map((_part, index, all) => all.slice(0, all.length - index).join('-'));
