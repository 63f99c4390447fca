import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { type Effects, effectLevels, groupOf, keyOf, readWeightName } from './effects.ts';
import { isCustom, type Property, publisherPart } from './properties.ts';

/**
 * Values of custom attributes that were learned from, by publisher and key. null: the key is closed, as it has too many
 * values; it tells users apart, and nothing is learned from it again.
 */
export type KeyValues = Map<string, ValuesOfKeys>;
type ValuesOfKeys = Map<string, Set<string> | null>;

/** Values of a custom attribute (count), and their length (characters). */
export const maxValues = 50;
const maxValueLength = 100;
/** Custom attributes of a publisher that are learned from (count). */
export const maxKeys = 50;

/** The properties that may be learned from; a value too many closes its key. */
export const allowed = (of: Learning, properties: readonly Property[]): readonly Property[] =>
  properties.filter((property) => !isCustom(property.key) || isAllowed(of, property));

/** The values so far, and what is learned from them. */
type Learning = { keyValues: KeyValues; effects: readonly Effects[] };

function isAllowed({ keyValues, effects }: Learning, { key, value }: Property): boolean {
  const known = valuesBeside(keyValues, key);
  let values = known.get(key);
  if (values === null) return false;
  if (values === undefined) {
    if (known.size >= maxKeys) return false;
    values = new Set();
    known.set(key, values);
  }
  if (values.has(value)) return true;
  if (values.size < maxValues && value.length <= maxValueLength) {
    values.add(value);
    return true;
  }
  known.set(key, null);
  for (const { name } of effectLevels) for (const { priors } of effects) priors.set(groupOf(name, key), 0);
  return false;
}

/** The values of the keys of the publisher of a key. */
const valuesBeside = (keyValues: KeyValues, key: string): ValuesOfKeys =>
  getOrInsert(keyValues, publisherPart(key), () => new Map());

/** The values that a stored model was learned from. */
export function keyValuesOf({ weights, priors }: Effects): KeyValues {
  const found: KeyValues = new Map();
  for (const feature of weights.features) {
    const read = readWeightName(feature);
    if (read !== null && isCustom(read.key))
      getOrInsert(valuesBeside(found, read.key), read.key, () => new Set<string>())?.add(read.value);
  }
  for (const [group, prior] of priors) if (prior === 0) valuesBeside(found, keyOf(group)).set(keyOf(group), null);
  return found;
}
