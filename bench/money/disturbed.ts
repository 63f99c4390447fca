import { writeFileSync } from 'node:fs';
import { getOrInsert } from '../../src/platform/lib/get-or-insert.ts';
import { type DisturbedWorld, disturbedWorlds, type Measured, measure } from './disturbed-worlds.ts';
import { engine, type Policy } from './policies.ts';
import { plainThompson } from './random/policies.ts';
import type { World } from './world.ts';

/**
 * Measures rankings with lost clicks, late clicks, pauses and new offers: `npm run bench:money -- disturbed [SEEDS]
 * [FIRST SEED]`.
 */
const [seeds, firstSeed] = [Number(process.argv[3] ?? 3), Number(process.argv[4] ?? 1)];
const policies: Record<string, (world: World, seed: number) => Policy> = { Perkwire: engine, plain: plainThompson };

const percent = (values: readonly number[]): string => {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return `${(100 * mean).toFixed(1)} (${(100 * Math.min(...values)).toFixed(1)})`;
};

/** Revenue after recovery as a share of the revenue in the same run without the disturbance. */
function againstUndisturbed(world: DisturbedWorld, seed: number, { recovered }: Measured): number[] {
  if (world.endsMs === undefined) return [];
  const { isLost: _, knownAtMs: _known, isPaused: _paused, ...undisturbed } = world;
  return [recovered / measure(undisturbed, engine, seed).recovered];
}

const lines: string[] = [];
for (const [at, { name, goal, countsAfter }] of disturbedWorlds(1).entries()) {
  const measured: Record<string, Measured[]> = { Perkwire: [], plain: [] };
  const relative: number[] = [];
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const world = disturbedWorlds(seed)[at] as DisturbedWorld;
    for (const [policy, create] of Object.entries(policies)) measured[policy]?.push(measure(world, create, seed));
    relative.push(...againstUndisturbed(world, seed, measured.Perkwire?.at(-1) as Measured));
  }
  const valuesOf = (policy: string): number[] => (measured[policy] as Measured[]).map(({ value }) => value);
  const own = measured.Perkwire as Measured[];
  const cells = [
    name,
    countsAfter !== undefined ? 'first 90' : goal === null ? 'plain – 1' : (100 * goal).toFixed(1),
    ...Object.keys(policies).map((policy) => percent(valuesOf(policy))),
    percent(own.map(({ bestFirst }) => bestFirst)),
    Math.max(...own.map(({ longestS }) => longestS)).toFixed(1),
    relative.length === 0 ? '–' : percent(relative),
  ];
  lines.push(`| ${cells.join(' | ')} |`);
  process.stdout.write(`${lines.at(-1)}\n`);
}
const namesOf = new Map<string, string[]>();
for (const { name, what, answers } of disturbedWorlds(1))
  getOrInsert(namesOf, `${what}; ${answers} responses`, (): string[] => []).push(name);
writeFileSync(
  'bench/results/disturbed.md',
  `# disturbed

${seeds} worlds of each kind, starting with seed ${firstSeed} (bench/money/disturbed-worlds.ts), simulated with the
engine's own decision and learning code on a simulated clock. The disturbance begins halfway.

- Value: true expected revenue of the second half, in percent of the best possible; mean of all seeds, worst in
  brackets. Plain Thompson sampling counts per offer.
- Best offer first: percent of responses. For a new offer, counted from its 2,000th impression; the goal is 90 in each
  world.
- Longest without: longest time without the best offer first, in the worst run.
- Recovered: value from one minute after the disturbance, in percent of the same run without it; the goal is 97.

The worlds:

${[...namesOf].map(([what, names]) => `- **${names.join('; ')}**: ${what}`).join('\n')}

| World | Goal | Perkwire | Plain Thompson | Best offer first | Longest without (s) | Recovered |
| --- | --- | --- | --- | --- | --- | --- |
${lines.join('\n')}
`,
);
