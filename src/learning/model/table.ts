/**
 * Learned data of a model: a pair of numbers for each feature and entity, such as `offer device=mobile` and an offer
 * ID. Arrays are used because there may be a million pairs. Numbers have single precision, so that a stored model is
 * identical bit for bit.
 */
export type Table = {
  /** Feature names by index. New features are appended, and features are never removed. */
  readonly features: string[];
  readonly indexOf: Map<string, number>;
  /** Slots by entity ID. There is one map per feature index. */
  readonly slots: Map<number, number>[];
  size: number;
  featureOf: Int32Array;
  entityOf: Int32Array;
  first: Float32Array;
  second: Float32Array;
  /** Slots that changed since the set was last cleared, or null if changes are not tracked. */
  changed: Set<number> | null;
};

const firstLength = 64;
/** Growth factor for full arrays. */
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

/** Returns the index of a feature, adding the feature if it is new. */
export function addFeature({ features, indexOf, slots }: Table, name: string): number {
  const existing = indexOf.get(name);
  if (existing !== undefined) return existing;
  indexOf.set(name, features.length);
  slots.push(new Map());
  return features.push(name) - 1;
}

/** Returns the slot of a pair, or -1 if it does not exist. */
export const findSlot = ({ slots }: Table, feature: number, entity: number): number =>
  slots[feature]?.get(entity) ?? -1;

/** Returns the slot of a pair, adding the pair if it is new. */
export function slotOf(table: Table, feature: number, entity: number): number {
  const existing = findSlot(table, feature, entity);
  if (existing !== -1) return existing;
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
