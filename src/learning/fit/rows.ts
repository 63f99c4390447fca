import { isCustom, type Property, publisherPart } from '../properties.ts';

/** An impression or a click that a fit learns from. */
export type RowInput = {
  /** Identifies the row for `succeed`: an integer below 2⁵³. */
  id: number;
  offerId: number;
  /** Placement of a publisher; positions are compared within it. */
  place: string;
  /** Counted from 1. */
  position: number;
  properties: readonly Property[];
  atMs: number;
};

/** Parameters of a block of cells. Each row of the block belongs to exactly one cell. */
export type Block = {
  /** Prior variance of the cells; 0 means that the block has no effect. */
  variance: number;
  means: Float64Array;
  /** Information that the rows carry about each cell. */
  infos: Float64Array;
};

/** Rows with one property key, and the cells of its values: shared by all offers, and per offer. */
export type Column = {
  key: string;
  size: number;
  rows: Int32Array;
  values: Int32Array;
  cells: Int32Array;
  valueIds: Map<string, number>;
  /** Cells by value id and offer index. */
  cellIds: Map<number, number>;
  cellValues: number[];
  cellOffers: number[];
  shared: Block;
  own: Block;
  /** Size at which the evidence was last computed while the column had no effect. */
  checkedSize: number;
  /** Log evidence of the last fit that the values have effects of their own on offers. */
  evidence: number;
};

/** A bounded set of recent rows of one kind (impressions or clicks), stored by column. */
export type Rows = {
  capacity: number;
  size: number;
  offers: Int32Array;
  places: Int32Array;
  atMs: Float64Array;
  /** Time from the row to its success in milliseconds; negative where there is no success yet. */
  delaysMs: Float64Array;
  /** Number of rows that this one represents. */
  weights: Float64Array;
  ids: Float64Array;
  indexOf: Map<number, number>;
  offerIds: number[];
  offerIndex: Map<number, number>;
  placeIndex: Map<string, number>;
  /** Position of each place index. */
  positions: number[];
  columns: Map<string, Column>;
  /** Keys with too many values, which may identify users: nothing is learned from them again. */
  closedKeys: Set<string>;
  /** Number of custom attributes of each publisher, by the prefix of its keys. */
  keyCounts: Map<string, number>;
};

/** Maximum number of values of a custom attribute, and of custom attributes of a publisher. */
export const [maxValues, maxKeys] = [50, 50];
/** Maximum length of a value (characters). */
const maxValueLength = 100;

const emptyBlock = (): Block => ({ variance: 0, means: new Float64Array(0), infos: new Float64Array(0) });

/**
 * Creates an empty set.
 * @param capacity maximum number of rows
 * @param closedKeys shared with other sets
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

/** Returns an array with at least this length and the same initial values. */
export function grown<T extends Int32Array | Float64Array>(array: T, length: number): T {
  if (array.length >= length) return array;
  const longer = new (array.constructor as new (length: number) => T)(Math.max(length, Math.ceil(array.length * 1.5)));
  longer.set(array);
  return longer;
}

/**
 * Adds a row, unless its id exists.
 * @returns its index
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
 * Records the success of a row, such as the click of an impression.
 * @param delayMs time since the row
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

/** Cell ids combine a value id with an offer index below this bound. */
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
 * Creates a column.
 * @returns null if the publisher already has too many attributes
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
