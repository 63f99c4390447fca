/**
 * Pairs of numbers by feature and entity, such as `offer device=mobile` and an offer's id: what a model has learned.
 * In arrays, because there may be a million, and of single precision, so that a stored model is the same bit for bit.
 */
export type Table = {
  /** By index; more are added, none is removed. */
  readonly features: string[];
  readonly indexOf: Map<string, number>;
  /** For each feature: slots by entity. */
  readonly slots: Map<number, number>[];
  size: number;
  featureOf: Int32Array;
  entityOf: Int32Array;
  first: Float32Array;
  second: Float32Array;
  /** Slots that were changed since the set was last emptied; null: not noted. */
  changed: Set<number> | null;
};

const firstLength = 64;
/** Arrays that are full become so many times as long. */
const growth = 1.25;

export const createTable = (): Table => ({
  features: [],
  indexOf: new Map(),
  slots: [],
  size: 0,
  featureOf: new Int32Array(firstLength),
  entityOf: new Int32Array(firstLength),
  first: new Float32Array(firstLength),
  second: new Float32Array(firstLength),
  changed: null,
});

/** The index of a feature, which is added unless it is known. */
export function addFeature({ features, indexOf, slots }: Table, name: string): number {
  const known = indexOf.get(name);
  if (known !== undefined) return known;
  indexOf.set(name, features.length);
  slots.push(new Map());
  return features.push(name) - 1;
}

/** The slot of a pair; -1: there is none. */
export const findSlot = ({ slots }: Table, feature: number, entity: number): number =>
  slots[feature]?.get(entity) ?? -1;

/** The slot of a pair, which is added unless it is known. */
export function slotOf(table: Table, feature: number, entity: number): number {
  const known = findSlot(table, feature, entity);
  if (known !== -1) return known;
  const slot = table.size;
  if (slot === table.first.length) grow(table);
  table.slots[feature]?.set(entity, slot);
  table.featureOf[slot] = feature;
  table.entityOf[slot] = entity;
  table.size += 1;
  return slot;
}

function grow(table: Table): void {
  const length = Math.ceil(table.first.length * growth);
  const longer = <T extends Int32Array | Float32Array>(from: T, to: T): T => {
    to.set(from);
    return to;
  };
  table.featureOf = longer(table.featureOf, new Int32Array(length));
  table.entityOf = longer(table.entityOf, new Int32Array(length));
  table.first = longer(table.first, new Float32Array(length));
  table.second = longer(table.second, new Float32Array(length));
}

export function setPair(table: Table, slot: number, first: number, second: number): void {
  table.first[slot] = first;
  table.second[slot] = second;
  table.changed?.add(slot);
}
