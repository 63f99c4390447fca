import { writeFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Offer } from '../../src/catalog/types.ts';
import { modelOf, packChanges, packModel, trackChanges, unpackVersion } from '../../src/learning/codec.ts';
import { createModel, estimateAllPriors, learn, type Model, placeOf } from '../../src/learning/model.ts';
import type { Property } from '../../src/learning/properties.ts';
import { following } from '../../src/learning/versions.ts';
import { runInSlices } from '../../src/platform/lib/slices.ts';
import { longestTurnMs } from '../../test/support/longest-turn.ts';
import { cpcOffers, uniforms } from './world.ts';

/** What the model of a large catalogue takes, and its next version: `npm run bench:money -- size`. */
const count = 10_000;
/** Values of each property: 50 in all. */
const values = { device: 3, os: 4, country: 12, hour: 24, weekday: 7 };
/** Impressions of an offer, and of those the part that is clicked; impressions and number of the next versions. */
const [impressions, clicked, next, versions] = [60, 0.05, 1000, 30];
/** Versions with new priors after those. */
const priors = 5;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const u = uniforms(1);

/** Megabytes in use. */
async function memoryMb(): Promise<number> {
  for (let at = 0; at < 3; at++) {
    collect();
    await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

function createAudience(model: Model): (offer: Offer) => void {
  let at = 0;
  return (offer) => {
    at += 1;
    const properties: Property[] = Object.entries(values).map(([key, of], index) => ({
      key,
      value: String(Math.floor(u(index + 1, at) * of)),
    }));
    const shown = { offer, place: placeOf(1, 'checkout'), position: 1, properties };
    learn(model, 'seen', shown);
    if (u(10, at) >= clicked) return;
    learn(model, 'clicked', shown);
    learn(model, 'awaited', shown);
  };
}

type Versions = {
  whole: Buffer;
  /** What follows it; popular offers are shown more. */
  changes: Buffer[];
  /** The last ones, with new priors; the longest turns of the event loop that they take to make. */
  ofPriors: Buffer[];
  turnsMs: number[];
  pairs: number;
  changed: number;
};

async function makeVersions(): Promise<Versions> {
  const offers = cpcOffers(count);
  const model = createModel();
  const show = createAudience(model);
  for (let round = 0; round < impressions; round++) for (const offer of offers) show(offer);
  const whole = await packModel(model);
  const tables = [model.click, model.conversion].flatMap(({ rates, effects }) => [rates, effects.weights]);
  const made: Versions = { whole, changes: [], ofPriors: [], turnsMs: [], pairs: 0, changed: 0 };
  for (let version = 0; version < versions + priors; version++) {
    trackChanges(model);
    for (let at = 0; at < next; at++) show(offers[Math.floor(u(20 + version, at) ** 3 * count)] as Offer);
    if (version < versions) {
      made.changed += tables.reduce((sum, table) => sum + (table.changed?.size ?? 0), 0) / versions;
      made.changes.push(await packChanges(model));
      continue;
    }
    const make = async (): Promise<void> => {
      await runInSlices(estimateAllPriors(model));
      made.ofPriors.push(await packChanges(model));
    };
    made.turnsMs.push(await longestTurnMs(make));
  }
  made.pairs = tables.reduce((sum, { size }) => sum + size, 0);
  return made;
}

const at = (list: readonly number[], share: number): string =>
  ([...list].sort((a, b) => a - b)[Math.floor(share * (list.length - 1))] ?? 0).toFixed(1);

const { whole, changes, ofPriors, turnsMs, pairs, changed } = await makeVersions();
const before = await memoryMb();
let model = await modelOf(1, await unpackVersion(whole));
const mb = (await memoryMb()) - before;

/** Takes versions over. @returns times, processor times and longest turns of each (milliseconds) */
async function follow(bodies: readonly Buffer[]): Promise<{ taken: number[]; used: number[]; turns: number[] }> {
  const [taken, used, turns]: [number[], number[], number[]] = [[], [], []];
  for (const body of bodies) {
    const [startMs, usage] = [performance.now(), process.cpuUsage()];
    const take = async (): Promise<void> => {
      model = (await following(model, { version: String(model.version + 1), body }))();
    };
    turns.push(await longestTurnMs(take));
    taken.push(performance.now() - startMs);
    const { user, system } = process.cpuUsage(usage);
    used.push((user + system) / 1000);
  }
  return { taken, used, turns };
}

const row = (name: string, times: readonly number[], goal = ''): string[] => [
  ...[name, `${at(times, 0.5)} ms`, `${at(times, 1)} ms`, goal],
];
const [usual, withPriors] = [await follow(changes), await follow(ofPriors)];
const rows = [
  ['memory', `${mb.toFixed(1)} MB`, '', '60 MB'],
  row('next version taken over', usual.taken, '20 ms'),
  row('of that, processor time', usual.used),
  row('longest turn of the event loop', usual.turns, '5 ms'),
  row('version with new priors taken over', withPriors.taken),
  row('of that, processor time', withPriors.used),
  row('longest turn of the event loop', withPriors.turns, '20 ms'),
  row('longest turn of the process that makes it', turnsMs, '20 ms'),
];
const table = rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
process.stdout.write(`${table}\n`);
writeFileSync(
  'bench/results/model-size.md',
  `# model-size

The model of ${count} offers of which each was seen in 50 contexts (values of device, operating system, country, hour
and weekday; ${impressions} impressions and ${impressions * clicked} clicks an offer): ${pairs} pairs of numbers.
The next version: ${next} impressions, ${Math.round(changed)} pairs, ${(changes[0]?.length ?? 0) / 1000} kB;
${versions} times. One with new priors: ${ofPriors.map(({ length }) => Math.round(length / 1000)).join(', ')} kB.
A turn is measured in processor time.

| | median | max | goal |
| --- | --- | --- | --- |
${table}
`,
);
