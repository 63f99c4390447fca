import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { runAtOnce, runInSlices } from '../../platform/lib/slices.ts';
import { createModel, type Model, type RateModel } from '../model.ts';
import { type Effects, groupOf, readWeightName } from './effects.ts';
import { addFeature, findSlot, setPair, slotOf, type Table } from './table.ts';

/**
 * A table's pairs, grouped by feature: the number of pairs per feature, and the entities and values of all pairs in
 * base64.
 */
type StoredTable = { features: string[]; counts: number[]; entities: string; first: string; second: string };

type StoredRate = {
  rates: StoredTable;
  weights: StoredTable;
  priors: [string, number][];
  delays: number[];
  /** Link function of the model. Absent in versions stored by earlier releases. */
  link?: 'logit';
};

/**
 * A stored version. It contains either the changes since the previous version or the complete model. Small parts are
 * always stored completely.
 */
type StoredVersion = {
  layout: 1;
  click: StoredRate;
  conversion: StoredRate;
  sales: [number, number, number][];
  /** Requests by hour of the week. Absent in versions stored by earlier releases. */
  traffic?: StoredTable;
};

/**
 * Selects which pairs of a table a version includes. `isClosed` indicates whether a feature belongs to a closed
 * property key, which is excluded from learning.
 */
type Selection = (table: Table, isClosed: (feature: string) => boolean) => Iterable<number>;

const changedSlots: Selection = ({ changed }) => changed ?? [];

/**
 * Selects all pairs except those of closed property keys. The values of these keys may identify users, so they must not
 * appear in complete models.
 */
function* openSlots({ size, features, featureOf }: Table, isClosed: (feature: string) => boolean): Iterable<number> {
  const closed = features.map(isClosed);
  for (let slot = 0; slot < size; slot++) if (closed[featureOf[slot] as number] === false) yield slot;
}

/** Encodes the complete model. */
export const packModel = (model: Model): Promise<Buffer> => pack(model, openSlots);
/** Encodes the changes since `trackChanges` was called. */
export const packChanges = (model: Model): Promise<Buffer> => pack(model, changedSlots);

/** Starts tracking changes to a model. */
export function trackChanges(model: Model): void {
  for (const table of tablesOf(model)) table.changed = new Set();
}

const tablesOf = ({ click, conversion, traffic }: Model): Table[] => [
  traffic,
  ...[click, conversion].flatMap(({ rates, effects }) => [rates, effects.weights]),
];

async function pack(model: Model, selection: Selection): Promise<Buffer> {
  const stored = await runInSlices(storedModel(model, selection));
  await nextTurn(); // a pause before and after one of the longest steps
  const text = JSON.stringify(stored);
  await nextTurn();
  return promisify(gzip)(text, { level: 1 });
}

function* storedModel(model: Model, selection: Selection): Generator<void, StoredVersion> {
  return {
    layout: 1,
    click: yield* storedRate(model.click, selection),
    conversion: yield* storedRate(model.conversion, selection),
    sales: [...model.sales].map(([id, { micros, count }]) => [id, micros, count]),
    traffic: yield* storedTable(
      model.traffic,
      selection(model.traffic, () => false),
    ),
  };
}

function* storedRate(
  { rates, effects, delays, isLogistic }: RateModel,
  selection: Selection,
): Generator<void, StoredRate> {
  return {
    rates: yield* storedTable(
      rates,
      selection(rates, () => false),
    ),
    weights: yield* storedTable(
      effects.weights,
      selection(effects.weights, (feature) => isClosed(effects, feature)),
    ),
    priors: [...effects.priors],
    delays: delays.counts,
    ...(isLogistic ? { link: 'logit' } : {}),
  };
}

function isClosed({ priors }: Effects, feature: string): boolean {
  const read = readWeightName(feature);
  return read !== null && priors.get(groupOf(read.level, read.key)) === 0;
}

/** Number of pairs to process before yielding to the event loop: about a millisecond of work. */
const sliceSize = 10_000;

function* storedTable(table: Table, slots: Iterable<number>): Generator<void, StoredTable> {
  const byFeature = new Map<number, number[]>();
  let size = 0;
  for (const slot of slots) {
    const feature = table.featureOf[slot] as number;
    const list = byFeature.get(feature);
    if (list === undefined) byFeature.set(feature, [slot]);
    else list.push(slot);
    if (++size % sliceSize === 0) yield;
  }
  const pairs = { entities: new Int32Array(size), first: new Float32Array(size), second: new Float32Array(size) };
  let at = 0;
  for (const list of byFeature.values())
    for (const slot of list) {
      pairs.entities[at] = table.entityOf[slot] as number;
      pairs.first[at] = table.first[slot] as number;
      pairs.second[at] = table.second[slot] as number;
      if (++at % sliceSize === 0) yield;
    }
  const entities = toBase64(pairs.entities);
  yield;
  const first = toBase64(pairs.first);
  yield;
  return {
    features: [...byFeature.keys()].map((feature) => table.features[feature] as string),
    counts: [...byFeature.values()].map(({ length }) => length),
    entities,
    first,
    second: toBase64(pairs.second),
  };
}

const toBase64 = ({ buffer }: Int32Array | Float32Array): string => Buffer.from(buffer).toString('base64');

/** Decodes base64 text into a separate buffer. Typed arrays need a buffer in which their data starts at offset 0. */
const bytesOf = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text, 'base64')).buffer;

/** A decoded version that has not been applied yet. */
export type ReadVersion = StoredVersion;

/**
 * Decodes a version.
 * @throws Error if it is corrupt or has an unknown layout
 */
export async function unpackVersion(packed: Buffer): Promise<ReadVersion> {
  const text = (await promisify(gunzip)(packed)).toString();
  await nextTurn(); // a pause between two long steps
  const stored = JSON.parse(text) as StoredVersion;
  if (stored.layout !== 1) throw new Error('a model version of an unknown layout');
  for (const { rates, weights } of [stored.click, stored.conversion])
    for (const table of [rates, weights]) check(table);
  if (stored.traffic !== undefined) check(stored.traffic);
  return stored;
}

/** Validates a table completely before any part of it is applied. */
function check({ features, counts, entities, first, second }: StoredTable): void {
  const bytes = 4 * counts.reduce((sum, count) => sum + count, 0);
  const isWhole = [entities, first, second].every((text) => Buffer.byteLength(text, 'base64') === bytes);
  if (features.length !== counts.length || !isWhole) throw new Error('a model version is not whole');
}

/**
 * Prepares to apply a version. `model` must have the previous version. It is not changed yet.
 * @returns a function that applies the version synchronously, so that no decision sees a partially applied version
 */
export async function prepare(model: Model, version: number, stored: ReadVersion): Promise<() => Model> {
  const tables = await runInSlices(findTables(model, stored));
  return () => {
    for (const table of tables) runAtOnce(write(table));
    return withRest(model, version, stored);
  };
}

/** Creates a model from a single complete version. */
export async function modelOf(version: number, stored: ReadVersion): Promise<Model> {
  const model = createModel();
  for (const table of await runInSlices(findTables(model, stored))) await runInSlices(write(table));
  return withRest(model, version, stored);
}

/** Updates the model fields that are stored outside the weight tables. */
function withRest(model: Model, version: number, stored: ReadVersion): Model {
  for (const kind of ['click', 'conversion'] as const) {
    for (const [group, prior] of stored[kind].priors) model[kind].effects.priors.set(group, prior);
    model[kind].delays.counts = stored[kind].delays;
    model[kind].isLogistic = stored[kind].link === 'logit';
  }
  return {
    ...model,
    version,
    sales: new Map(stored.sales.map(([id, micros, count]) => [id, { micros, count }])),
  };
}

/** The pairs of a version with their slots in the table. The slot of a new pair is -1. */
type FoundTable = {
  table: Table;
  features: number[];
  counts: number[];
  entities: Int32Array;
  first: Float32Array;
  second: Float32Array;
  slots: Int32Array;
};

function* findTables({ click, conversion, traffic }: Model, stored: ReadVersion): Generator<void, FoundTable[]> {
  return [
    yield* find(click.rates, stored.click.rates),
    yield* find(click.effects.weights, stored.click.weights),
    yield* find(conversion.rates, stored.conversion.rates),
    yield* find(conversion.effects.weights, stored.conversion.weights),
    ...(stored.traffic === undefined ? [] : [yield* find(traffic, stored.traffic)]),
  ];
}

/**
 * Looks up the pairs of a version, and adds missing features to the table. A feature without pairs does not affect
 * decisions.
 */
function* find(table: Table, { features: names, counts, ...stored }: StoredTable): Generator<void, FoundTable> {
  const features = names.map((name) => addFeature(table, name));
  const entities = new Int32Array(bytesOf(stored.entities));
  yield;
  const first = new Float32Array(bytesOf(stored.first));
  yield;
  const second = new Float32Array(bytesOf(stored.second));
  const slots = new Int32Array(entities.length);
  let at = 0;
  for (const [index, feature] of features.entries())
    for (let remaining = counts[index] as number; remaining > 0; remaining--, at++) {
      if (at % sliceSize === 0) yield;
      slots[at] = findSlot(table, feature, entities[at] as number);
    }
  return { table, features, counts, entities, first, second, slots };
}

function* write({ table, features, counts, entities, first, second, slots }: FoundTable): Generator<void, void> {
  let at = 0;
  for (const [index, feature] of features.entries())
    for (let remaining = counts[index] as number; remaining > 0; remaining--, at++) {
      if (at % sliceSize === 0) yield;
      const existingSlot = slots[at] as number;
      const slot = existingSlot === -1 ? slotOf(table, feature, entities[at] as number) : existingSlot;
      setPair(table, slot, first[at] as number, second[at] as number);
    }
}
