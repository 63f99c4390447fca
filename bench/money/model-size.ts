import { writeFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Offer } from '../../src/catalog/types.ts';
import { modelOf, packChanges, packModel, trackChanges, unpackVersion } from '../../src/learning/codec.ts';
import { createModel, learn, type Model, placeOf } from '../../src/learning/model.ts';
import type { Property } from '../../src/learning/properties.ts';
import { following } from '../../src/learning/versions.ts';
import { cpcOffers, uniforms } from './world.ts';

/** What the model of a large catalogue takes, and its next version: `npm run bench:money -- size`. */
const count = 10_000;
/** Values of each property: 50 in all. */
const values = { device: 3, os: 4, country: 12, hour: 24, weekday: 7 };
/** Impressions of an offer, and of those the part that is clicked; impressions and number of the next versions. */
const [impressions, clicked, next, versions] = [60, 0.05, 1000, 30];

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

/** A whole version, and those that follow it; popular offers are shown more. */
async function makeVersions(): Promise<{ whole: Buffer; changes: Buffer[]; pairs: number; changed: number }> {
  const offers = cpcOffers(count);
  const model = createModel();
  const show = createAudience(model);
  for (let round = 0; round < impressions; round++) for (const offer of offers) show(offer);
  const whole = await packModel(model);
  const tables = [model.click, model.conversion].flatMap(({ rates, effects }) => [rates, effects.weights]);
  const changes: Buffer[] = [];
  let changed = 0;
  for (let version = 0; version < versions; version++) {
    trackChanges(model);
    for (let at = 0; at < next; at++) show(offers[Math.floor(u(20 + version, at) ** 3 * count)] as Offer);
    changed += tables.reduce((sum, table) => sum + (table.changed?.size ?? 0), 0) / versions;
    changes.push(await packChanges(model));
  }
  return { whole, changes, pairs: tables.reduce((sum, { size }) => sum + size, 0), changed };
}

/** Longest time in which nothing else could run. */
function watchPauses() {
  let [longest, last, isOn] = [0, performance.now(), true];
  const tick = (): void => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    if (isOn) setImmediate(tick);
  };
  tick();
  return {
    take: (): number => {
      const found = longest;
      longest = 0;
      return found;
    },
    stop: () => {
      isOn = false;
    },
  };
}

const at = (list: readonly number[], share: number): string =>
  ([...list].sort((a, b) => a - b)[Math.floor(share * (list.length - 1))] ?? 0).toFixed(1);

const { whole, changes, pairs, changed } = await makeVersions();
const before = await memoryMb();
let model = modelOf(1, await unpackVersion(whole));
const mb = (await memoryMb()) - before;
const [taken, paused, used]: [number[], number[], number[]] = [[], [], []];
const pauses = watchPauses();
for (const body of changes) {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  pauses.take();
  const [startMs, usage] = [performance.now(), process.cpuUsage()];
  model = await following(model, { version: String(model.version + 1), body });
  taken.push(performance.now() - startMs);
  const { user, system } = process.cpuUsage(usage);
  used.push((user + system) / 1000);
  await nextTurn();
  paused.push(pauses.take());
}
pauses.stop();
const rows = [
  ['memory', `${mb.toFixed(1)} MB`, '', '60 MB'],
  ['next version taken over', `${at(taken, 0.5)} ms`, `${at(taken, 1)} ms`, '20 ms'],
  ['of that, processor time', `${at(used, 0.5)} ms`, `${at(used, 1)} ms`, ''],
  ['longest pause of the event loop', `${at(paused, 0.5)} ms`, `${at(paused, 1)} ms`, '5 ms'],
];
const table = rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
process.stdout.write(`${table}\n`);
writeFileSync(
  'bench/results/model-size.md',
  `# model-size

The model of ${count} offers of which each was seen in 50 contexts (values of device, operating system, country, hour
and weekday; ${impressions} impressions and ${impressions * clicked} clicks an offer): ${pairs} pairs of numbers.
The next version: ${next} impressions, ${Math.round(changed)} pairs, ${(changes[0]?.length ?? 0) / 1000} kB;
${versions} times.

| | median | max | goal |
| --- | --- | --- | --- |
${table}
`,
);
