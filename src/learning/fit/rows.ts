import { isCustom, type Property, publisherPart } from '../properties.ts';

/** An impression or click from which a fit learns. */
export type RowInput = {
  /** Row ID for `succeed`: an integer below 2⁵³. */
  id: number;
  offerId: number;
  /** Publisher's placement. Positions are compared only within a placement. */
  place: string;
  /** Position of the offer, from 1. */
  position: number;
  properties: readonly Property[];
  atMs: number;
};

/** Parameters of a block of effects. Each row of the block belongs to exactly one cell. */
export type Block = {
  /** Prior variance of the cells. If it is 0, the block has no effect. */
  variance: number;
  means: Float64Array;
  /** Fisher information about each cell from its rows. */
  infos: Float64Array;
};

/** Rows that have a certain property key. Each value has one cell shared by all offers, and one cell per offer. */
export type Column = {
  key: string;
  size: number;
  rows: Int32Array;
  values: Int32Array;
  cells: Int32Array;
  valueIds: Map<string, number>;
  /** Cell indexes, keyed by value ID and offer index. */
  cellIds: Map<number, number>;
  cellValues: number[];
  cellOffers: number[];
  shared: Block;
  own: Block;
  /** Number of rows when the evidence was last computed and no effect was found. */
  checkedSize: number;
  /** Log evidence from the last fit that the values have different effects on different offers. */
  evidence: number;
};

/** A bounded set of recent rows of one kind (impressions or clicks), stored by column. */
export type Rows = {
  capacity: number;
  size: number;
  offers: Int32Array;
  places: Int32Array;
  atMs: Float64Array;
  /** Time from the row to its success, in milliseconds. Negative while there is no success. */
  delaysMs: Float64Array;
  /** Number of original rows that a row stands for after thinning. */
  weights: Float64Array;
  ids: Float64Array;
  indexOf: Map<number, number>;
  offerIds: number[];
  offerIndex: Map<number, number>;
  placeIndex: Map<string, number>;
  /** Position of each place index. */
  positions: number[];
  columns: Map<string, Column>;
  /**
   * Property keys with too many values. They are excluded from learning permanently, because they may identify users.
   */
  closedKeys: Set<string>;
  /** Number of custom attributes per publisher. The key is the publisher's prefix. */
  keyCounts: Map<string, number>;
};

/** Maximum number of values per custom attribute, and of custom attributes per publisher. */
export const [maxValues, maxKeys] = [50, 50];
/** Maximum length of a value, in characters. */
const maxValueLength = 100;

const emptyBlock = (): Block => ({ variance: 0, means: new Float64Array(0), infos: new Float64Array(0) });

/**
 * Creates an empty set of rows.
 * @param capacity maximum number of rows
 * @param closedKeys property keys that are excluded from learning, shared with other sets of rows
 */
export const createRows = (capacity: number, closedKeys: Set<string>): Rows => ({
  capacity,
  size: 0,
  offers: new Int32Array(64),
  places: new Int32Array(64),
  atMs: new Float64Array(64),
  delaysMs: new Float64Array(64),
  weights: new Float64Array(64),
  ids: new Float64Array(64),
  indexOf: new Map(),
  offerIds: [],
  offerIndex: new Map(),
  placeIndex: new Map(),
  positions: [],
  columns: new Map(),
  closedKeys,
  keyCounts: new Map(),
});

/** Returns an array that starts with the same values and has at least the given length. */
export function grown<T extends Int32Array | Float64Array>(array: T, length: number): T {
  if (array.length >= length) return array;
  const longer = new (array.constructor as new (length: number) => T)(Math.max(length, Math.ceil(array.length * 1.5)));
  longer.set(array);
  return longer;
}

/**
 * Adds a row unless a row with its ID already exists.
 * @returns index of the row
 */
export function addRow(rows: Rows, { id, offerId, place, position, properties, atMs }: RowInput): number {
  const existing = rows.indexOf.get(id);
  if (existing !== undefined) return existing;
  const row = rows.size++;
  for (const name of ['offers', 'places'] as const) rows[name] = grown(rows[name], rows.size);
  for (const name of ['atMs', 'delaysMs', 'weights', 'ids'] as const) rows[name] = grown(rows[name], rows.size);
  const offer = indexIn(rows.offerIndex, offerId);
  rows.offerIds[offer] = offerId;
  const placeAt = indexIn(rows.placeIndex, `${position} ${place}`);
  rows.positions[placeAt] = position;
  rows.offers[row] = offer;
  rows.places[row] = placeAt;
  rows.atMs[row] = atMs;
  rows.delaysMs[row] = -1;
  rows.weights[row] = 1;
  rows.ids[row] = id;
  rows.indexOf.set(id, row);
  for (const property of properties) addToColumn(rows, row, offer, property);
  return row;
}

/**
 * Records the success of a row, for example the click after an impression.
 * @param delayMs time from the row to its success, in milliseconds
 */
export function succeed(rows: Rows, row: RowInput, delayMs: number): void {
  rows.delaysMs[addRow(rows, row)] = Math.max(0, delayMs);
}

function indexIn<Key>(index: Map<Key, number>, key: Key): number {
  const existing = index.get(key);
  if (existing !== undefined) return existing;
  index.set(key, index.size);
  return index.size - 1;
}

/** Upper bound for offer indexes. It is needed because a cell ID combines a value ID with an offer index. */
const offerBound = 2 ** 22;

function addToColumn(rows: Rows, row: number, offer: number, { key, value }: Property): void {
  if (rows.closedKeys.has(key)) {
    rows.columns.delete(key);
    return;
  }
  const column = rows.columns.get(key) ?? newColumn(rows, key);
  if (column === null) return;
  if (isCustom(key) && !column.valueIds.has(value))
    if (column.valueIds.size >= maxValues || value.length > maxValueLength) {
      rows.closedKeys.add(key);
      rows.columns.delete(key);
      return;
    }
  const at = column.size++;
  column.rows = grown(column.rows, column.size);
  column.values = grown(column.values, column.size);
  column.cells = grown(column.cells, column.size);
  const valueId = indexIn(column.valueIds, value);
  const cell = indexIn(column.cellIds, valueId * offerBound + offer);
  column.cellValues[cell] = valueId;
  column.cellOffers[cell] = offer;
  column.rows[at] = row;
  column.values[at] = valueId;
  column.cells[at] = cell;
}

/**
 * Creates a column for a property key.
 * @returns null if the publisher already has the maximum number of custom attributes
 */
function newColumn(rows: Rows, key: string): Column | null {
  if (isCustom(key)) {
    const count = rows.keyCounts.get(publisherPart(key)) ?? 0;
    if (count >= maxKeys) return null;
    rows.keyCounts.set(publisherPart(key), count + 1);
  }
  const column: Column = {
    key,
    size: 0,
    rows: new Int32Array(64),
    values: new Int32Array(64),
    cells: new Int32Array(64),
    valueIds: new Map(),
    cellIds: new Map(),
    cellValues: [],
    cellOffers: [],
    shared: emptyBlock(),
    own: emptyBlock(),
    checkedSize: 0,
    evidence: 0,
  };
  rows.columns.set(key, column);
  return column;
}
