import { writeFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { modelOf, packChanges, packModel, trackChanges, unpackVersion } from '../../src/learning/model/codec.ts';
import { groupOf, weightName } from '../../src/learning/model/effects.ts';
import { offerFeature, ownLevel } from '../../src/learning/model/logistic-features.ts';
import { agedFeature } from '../../src/learning/model/rates.ts';
import { addFeature, setPair, slotOf, type Table } from '../../src/learning/model/table.ts';
import { createModel, type Model } from '../../src/learning/model.ts';
import { following } from '../../src/learning/versions.ts';
import { longestTurnMs } from '../../test/support/longest-turn.ts';
import { uniforms } from './world.ts';

/**
 * Measures the model size of a large catalogue and the cost of the next model version: `npm run bench:money -- size`.
 */
const count = 10_000;
/** Number of values per property, 50 in total. */
const values = { device: 3, os: 4, country: 12, hour: 24, weekday: 7 };
/** Number of later model versions, and number of pairs that each of them changes. */
const [versions, changedPairs] = [30, 5000];
/** Number of additional versions with other variances, which change a fifth of all pairs. */
const variances = 5;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const u = uniforms(1);

/** Returns the used memory in megabytes, after garbage collection. */
async function memoryMb(): Promise<number> {
  for (let at = 0; at < 3; at++) {
    collect();
    await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

/** Sets a pair of the table to unique pseudorandom numbers. */
function setAt(table: Table, slot: number, salt: number): void {
  setPair(table, slot, u(salt, slot) - 0.5, 0.01 + u(salt + 1, slot));
}

/** Creates a model in which each offer has a separate effect for each property value. */
function createLargeModel(): Model {
  const model = createModel();
  for (const { rates, effects } of [model.click, model.conversion]) {
    for (const name of [offerFeature, agedFeature]) {
      const feature = addFeature(rates, name);
      for (let id = 1; id <= count; id++) setAt(rates, slotOf(rates, feature, id), 1);
    }
    for (const [key, of] of Object.entries(values)) {
      effects.priors.set(groupOf(ownLevel, key), 0.1);
      for (let value = 0; value < of; value++) {
        const feature = addFeature(effects.weights, weightName(ownLevel, '', { key, value: String(value) }));
        for (let id = 1; id <= count; id++) setAt(effects.weights, slotOf(effects.weights, feature, id), 2);
      }
    }
    // Conversions are rarer, so only clicks get effects.
    if (rates === model.click.rates) continue;
    effects.priors.clear();
  }
  return model;
}

type Versions = { whole: Buffer; changes: Buffer[]; ofVariances: Buffer[]; turnsMs: number[]; pairs: number };

async function makeVersions(): Promise<Versions> {
  const model = createLargeModel();
  const tables = [model.click, model.conversion].flatMap(({ rates, effects }) => [rates, effects.weights]);
  const pairs = tables.reduce((sum, { size }) => sum + size, 0);
  const created: Versions = { whole: await packModel(model), changes: [], ofVariances: [], turnsMs: [], pairs };
  for (let version = 0; version < versions + variances; version++) {
    trackChanges(model);
    const changed = version < versions ? changedPairs : pairs / 5;
    for (let at = 0; at < changed; at++) {
      const table = tables[at % tables.length] as Table;
      setAt(table, Math.floor(u(20 + version, at) * table.size), 30 + version);
    }
    if (version < versions) created.changes.push(await packChanges(model));
    else
      created.turnsMs.push(
        await longestTurnMs(async () => {
          created.ofVariances.push(await packChanges(model));
        }),
      );
  }
  return created;
}

const at = (list: readonly number[], share: number): string =>
  ([...list].sort((a, b) => a - b)[Math.floor(share * (list.length - 1))] ?? 0).toFixed(1);

const { whole, changes, ofVariances, turnsMs, pairs } = await makeVersions();
const before = await memoryMb();
let model = await modelOf(1, await unpackVersion(whole));
const mb = (await memoryMb()) - before;

/**
 * Applies versions one after another.
 * @returns durations, CPU times and longest event loop turns per version, in milliseconds
 */
async function follow(bodies: readonly Buffer[]): Promise<{ durationsMs: number[]; used: number[]; turns: number[] }> {
  const [durationsMs, used, turns]: [number[], number[], number[]] = [[], [], []];
  for (const body of bodies) {
    const [startMs, usage] = [performance.now(), process.cpuUsage()];
    const take = async (): Promise<void> => {
      model = (await following(model, { version: String(model.version + 1), body }))();
    };
    turns.push(await longestTurnMs(take));
    durationsMs.push(performance.now() - startMs);
    const { user, system } = process.cpuUsage(usage);
    used.push((user + system) / 1000);
  }
  return { durationsMs, used, turns };
}

const row = (name: string, times: readonly number[], goal = ''): string[] => [
  ...[name, `${at(times, 0.5)} ms`, `${at(times, 1)} ms`, goal],
];
const [usual, withVariances] = [await follow(changes), await follow(ofVariances)];
const rows = [
  ['memory', `${mb.toFixed(1)} MB`, '', '60 MB'],
  row('next version applied', usual.durationsMs, '20 ms'),
  row('of which CPU time', usual.used),
  row('longest event loop turn', usual.turns, '5 ms'),
  row('version with new variances applied', withVariances.durationsMs),
  row('of which CPU time', withVariances.used),
  row('longest event loop turn', withVariances.turns, '20 ms'),
  row('longest turn of the thread that creates it', turnsMs, '20 ms'),
];
const table = rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
process.stdout.write(`${table}\n`);
writeFileSync(
  'bench/results/model-size.md',
  `# model-size

The model of ${count} offers with an effect of each of 50 values (device, operating system, country, hour and weekday)
on clicks and on conversions: ${pairs} pairs of numbers. The next version changes ${changedPairs} of them,
${(changes[0]?.length ?? 0) / 1000} kB; ${versions} times. A version with new variances changes a fifth:
${ofVariances.map(({ length }) => Math.round(length / 1000)).join(', ')} kB.
Turns are measured in CPU time.

| | median | max | goal |
| --- | --- | --- | --- |
${table}
`,
);
