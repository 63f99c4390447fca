import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Effects, groupOf, readWeightName } from './effects.ts';
import { createModel, type Model, type RateModel } from './model.ts';
import { addFeature, setPair, slotOf, type Table } from './table.ts';

/** Pairs of a table by feature: how many each feature has, then their entities and values, as base64. */
type StoredTable = { features: string[]; counts: number[]; entities: string; first: string; second: string };

type StoredRate = { rates: StoredTable; weights: StoredTable; priors: [string, number][]; delays: number[] };

/** What changed since the version before, or a whole model. Small parts are always whole. */
type StoredVersion = {
  layout: 1;
  click: StoredRate;
  conversion: StoredRate;
  sales: [number, number, number][];
  /** Absent in versions of earlier releases. */
  traffic?: StoredTable;
};

/** Pairs of a table that are in a version. `isClosed`: features of keys that nothing is learned from. */
type Selection = (table: Table, isClosed: (feature: string) => boolean) => Iterable<number>;

const changedSlots: Selection = ({ changed }) => changed ?? [];

/** A whole model is without the values of closed keys: they may tell users apart. */
function* openSlots({ size, features, featureOf }: Table, isClosed: (feature: string) => boolean): Iterable<number> {
  const closed = features.map(isClosed);
  for (let slot = 0; slot < size; slot++) if (closed[featureOf[slot] as number] === false) yield slot;
}

/** The whole model. */
export const packModel = (model: Model): Promise<Buffer> => pack(model, openSlots);
/** What changed since `trackChanges`. */
export const packChanges = (model: Model): Promise<Buffer> => pack(model, changedSlots);

/** Notes changes from now on. */
export function trackChanges(model: Model): void {
  for (const table of tablesOf(model)) table.changed = new Set();
}

const tablesOf = ({ click, conversion, traffic }: Model): Table[] => [
  traffic,
  ...[click, conversion].flatMap(({ rates, effects }) => [rates, effects.weights]),
];

function pack(model: Model, selection: Selection): Promise<Buffer> {
  const stored: StoredVersion = {
    layout: 1,
    click: storedRate(model.click, selection),
    conversion: storedRate(model.conversion, selection),
    sales: [...model.sales].map(([id, { micros, count }]) => [id, micros, count]),
    traffic: storedTable(
      model.traffic,
      selection(model.traffic, () => false),
    ),
  };
  return promisify(gzip)(JSON.stringify(stored), { level: 1 });
}

const storedRate = ({ rates, effects, delays }: RateModel, selection: Selection): StoredRate => ({
  rates: storedTable(
    rates,
    selection(rates, () => false),
  ),
  weights: storedTable(
    effects.weights,
    selection(effects.weights, (feature) => isClosed(effects, feature)),
  ),
  priors: [...effects.priors],
  delays: delays.counts,
});

function isClosed({ priors }: Effects, feature: string): boolean {
  const read = readWeightName(feature);
  return read !== null && priors.get(groupOf(read.level, read.key)) === 0;
}

function storedTable({ features, featureOf, entityOf, first, second }: Table, slots: Iterable<number>): StoredTable {
  const byFeature = new Map<number, number[]>();
  for (const slot of slots) {
    const feature = featureOf[slot] as number;
    const list = byFeature.get(feature);
    if (list === undefined) byFeature.set(feature, [slot]);
    else list.push(slot);
  }
  const sorted = [...byFeature.values()].flat();
  return {
    features: [...byFeature.keys()].map((feature) => features[feature] as string),
    counts: [...byFeature.values()].map(({ length }) => length),
    entities: toBase64(Int32Array.from(sorted, (slot) => entityOf[slot] as number)),
    first: toBase64(Float32Array.from(sorted, (slot) => first[slot] as number)),
    second: toBase64(Float32Array.from(sorted, (slot) => second[slot] as number)),
  };
}

const toBase64 = ({ buffer }: Int32Array | Float32Array): string => Buffer.from(buffer).toString('base64');

/** The bytes of a base64 text, at the beginning of a buffer of their own, as typed arrays need it. */
const bytesOf = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text, 'base64')).buffer;

/** A version that was read, to be taken over at once. */
export type ReadVersion = StoredVersion;

/** @throws Error where it is broken, or of another layout */
export async function unpackVersion(packed: Buffer): Promise<ReadVersion> {
  const stored = JSON.parse((await promisify(gunzip)(packed)).toString()) as StoredVersion;
  if (stored.layout !== 1) throw new Error('a model version of an unknown layout');
  for (const { rates, weights } of [stored.click, stored.conversion])
    for (const table of [rates, weights]) check(table);
  if (stored.traffic !== undefined) check(stored.traffic);
  return stored;
}

/** Nothing of a version is taken over before all of it was read. */
function check({ features, counts, entities, first, second }: StoredTable): void {
  const bytes = 4 * counts.reduce((sum, count) => sum + count, 0);
  const isWhole = [entities, first, second].every((text) => Buffer.byteLength(text, 'base64') === bytes);
  if (features.length !== counts.length || !isWhole) throw new Error('a model version is not whole');
}

/** Takes a version over: `model` is what it was with the version before. @returns the object of the new version */
export function takeOver(model: Model, version: number, stored: ReadVersion): Model {
  takeRate(model.click, stored.click);
  takeRate(model.conversion, stored.conversion);
  if (stored.traffic !== undefined) takeTable(model.traffic, stored.traffic);
  return {
    ...model,
    version,
    sales: new Map(stored.sales.map(([id, micros, count]) => [id, { micros, count }])),
  };
}

/** A model of a whole version alone. */
export const modelOf = (version: number, stored: ReadVersion): Model => takeOver(createModel(), version, stored);

function takeRate({ rates, effects, delays }: RateModel, stored: StoredRate): void {
  takeTable(rates, stored.rates);
  takeTable(effects.weights, stored.weights);
  for (const [group, prior] of stored.priors) effects.priors.set(group, prior);
  delays.counts = stored.delays;
}

function takeTable(table: Table, { features, counts, ...stored }: StoredTable): void {
  const entities = new Int32Array(bytesOf(stored.entities));
  const first = new Float32Array(bytesOf(stored.first));
  const second = new Float32Array(bytesOf(stored.second));
  let at = 0;
  for (const [index, name] of features.entries()) {
    const feature = addFeature(table, name);
    for (let left = counts[index] as number; left > 0; left--, at++)
      setPair(table, slotOf(table, feature, entities[at] as number), first[at] as number, second[at] as number);
  }
}
