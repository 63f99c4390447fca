import { writeFileSync } from 'node:fs';
import { lastHalfOf } from '../play.ts';
import { engine, type Policy, uniform } from '../policies.ts';
import { logisticPerOffer } from '../rivals.ts';
import { plainThompson } from './policies.ts';
import { type RandomWorld, randomWorld } from './worlds.ts';

/** Measures rankings in worlds drawn from broad priors: `npm run bench:money -- random COUNT SEED [RANKINGS]`. */
const [count, firstSeed] = [Number(process.argv[3] ?? 200), Number(process.argv[4] ?? 1)];
const only = process.argv[5] ?? '';

const policies: Record<string, (world: RandomWorld, seed: number) => Policy> = {
  uniform,
  'plain Thompson': plainThompson,
  'full-covariance logistic': logisticPerOffer,
  Perkwire: engine,
};

type Result = { share: number; world: RandomWorld };
const results = new Map<string, Result[]>();
for (let seed = firstSeed; seed < firstSeed + count; seed++) {
  const line: string[] = [];
  for (const [name, create] of Object.entries(policies)) {
    if (!new RegExp(only).test(name)) continue;
    const world = randomWorld(seed);
    const isForClicks = world.offers.every(({ campaign }) => campaign.payout.kind === 'cpc');
    if (create === logisticPerOffer && (!isForClicks || world.offers.length > 100 || world.keys > 10)) continue;
    const began = performance.now();
    const share = lastHalfOf(world, create(world, seed), seed);
    results.set(name, [...(results.get(name) ?? []), { share, world }]);
    line.push(`${name} ${(100 * share).toFixed(1)} (${((performance.now() - began) / 1000).toFixed(0)} s)`);
  }
  process.stdout.write(`${line.join(' · ')} | ${randomWorld(seed).what}\n`);
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
const percent = (values: readonly number[]): string => (values.length === 0 ? '–' : (100 * mean(values)).toFixed(1));
const sharesOf = (list: readonly Result[]): number[] => list.map(({ share }) => share).sort((a, b) => a - b);
const groups = [...new Set([...results.values()].flat().flatMap(({ world }) => world.groups))].sort();
const rows = [...results].map(([name, list]) => {
  const shares = sharesOf(list);
  const lowest = shares.slice(0, Math.ceil(shares.length / 20));
  const median = percent(shares.slice(shares.length >> 1, (shares.length >> 1) + 1));
  const worst = list.reduce((a, b) => (b.share < a.share ? b : a));
  return `| ${name} | ${list.length} | ${percent(shares)} | ${median} | ${percent(lowest)} | ${worst.world.what} |`;
});
const ofGroups = groups.map((group) => {
  const cells = [...results.values()].map((list) =>
    percent(sharesOf(list.filter(({ world }) => world.groups.includes(group)))),
  );
  const size = [...results.values()][0]?.filter(({ world }) => world.groups.includes(group)).length ?? 0;
  return `| ${group} | ${size} | ${cells.join(' | ')} |`;
});
const names = [...results.keys()];
const text = `# random

${count} worlds, starting with seed ${firstSeed} (bench/money/random/worlds.ts), drawn from broad priors: 2 to 1,000
offers, 0 to 40 attributes with 2 to 50 values and effects from none to decisive, base rates of 0.1 to 90%, 1 to 200
responses per second, clicks after 0.05 seconds to minutes, conversions after up to hours; waves, swaps and new offers;
lost and late clicks, a landing page that is down, a paused learner, a second process whose events arrive later. The
table shows the true expected value of the second half of the run as a share of the best possible. Plain Thompson
sampling counts per offer, with a prior of one success at the pooled rate. The logistic sampler runs in worlds that pay
per click, with up to 100 offers and 10 attributes.

| Ranking | worlds | mean | median | mean of the worst 5% | worst world |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

Means of groups of worlds:

| Group | worlds | ${names.join(' | ')} |
| --- | --- | ${names.map(() => '---').join(' | ')} |
${ofGroups.join('\n')}
`;
process.stdout.write(text);
if (only === '') writeFileSync('bench/results/random.md', text);
