import { writeFileSync } from 'node:fs';
import { play } from './play.ts';
import { engine, type Policy, uniform } from './policies.ts';
import { rankingWorlds } from './ranking-worlds.ts';
import { greedy, logisticPerOffer, withoutContext } from './rivals.ts';
import type { World } from './world.ts';

/**
 * Measures the revenue of each ranking in seeded worlds with known truth, as a share of the best possible revenue. To
 * run 3 seeds, and only the worlds and rankings with these names: `npm run bench:money -- 3 devices Perkwire`.
 */
const seeds = Number(process.argv[2] ?? 1);
const only = process.argv[3] ?? '';
const onlyPolicy = process.argv[4] ?? '';

const policies: Record<string, (world: World, seed: number) => Policy> = {
  uniform,
  'ε-greedy': greedy,
  'without context': withoutContext,
  'logistic per offer': logisticPerOffer,
  Perkwire: engine,
};

/** Number of equal parts that a run is divided into. */
const parts = 10;

/**
 * Number of responses per window, which shows how fast a ranking learns, and the revenue share to reach in a window.
 */
const [window, reached] = [500, 0.9];

type Run = {
  earned: number[];
  possible: number[];
  firstShare: number[];
  windows: { earned: number; possible: number }[];
};

/** Returns the true expected revenue of the offers that a policy shows, by part of the run. */
function runOf(world: World, policy: Policy, seed: number): Run {
  const run: Run = {
    earned: Array(parts).fill(0),
    possible: Array(parts).fill(0),
    firstShare: Array(parts).fill(0),
    windows: Array.from({ length: Math.ceil(world.answers / window) }, () => ({ earned: 0, possible: 0 })),
  };
  play(world, policy, seed, ({ at, choices, best, earned, possible }) => {
    const part = Math.floor((at * parts) / world.answers);
    run.earned[part] = (run.earned[part] as number) + earned;
    run.possible[part] = (run.possible[part] as number) + possible;
    const own = run.windows[Math.floor(at / window)] as Run['windows'][number];
    own.earned += earned;
    own.possible += possible;
    if (choices[0] === best[0]) run.firstShare[part] = (run.firstShare[part] as number) + parts / world.answers;
  });
  return run;
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;

/**
 * Returns the number of responses after which the next window reaches the required revenue share, summed over all runs,
 * or null if none does.
 */
function answersUntilReached(runs: readonly Run[], from: number): number | null {
  const first = Math.floor(from / window);
  const count = (runs[0] as Run).windows.length;
  for (let at = first; at < count; at++) {
    const own = runs.map(({ windows }) => windows[at] as Run['windows'][number]);
    if (sum(own.map(({ earned }) => earned)) >= reached * sum(own.map(({ possible }) => possible)))
      return (at - first) * window;
  }
  return null;
}

const lines = [
  '| World | Ranking | share of the best | by tenth | best offer first, last tenth | responses until 90% |',
  '| --- | --- | --- | --- | --- | --- |',
];
const started = performance.now();
const worlds = rankingWorlds(1);
for (const [index, { name }] of worlds.entries()) {
  if (!new RegExp(only).test(name)) continue;
  for (const [policyName, create] of Object.entries(policies)) {
    if (!policyName.includes(onlyPolicy)) continue;
    const began = performance.now();
    const runs: Run[] = [];
    for (let seed = 1; seed <= seeds; seed++) {
      const world = rankingWorlds(seed)[index] as World;
      const isForClicks = world.offers.every(({ campaign }) => campaign.payout.kind === 'cpc');
      if (create === logisticPerOffer && (!isForClicks || world.offers.length > 100)) continue;
      runs.push(runOf(world, create(world, seed), seed));
    }
    if (runs.length === 0) continue;
    const mean = (of: (run: Run) => number): number => sum(runs.map(of)) / runs.length;
    const tenths = Array.from({ length: parts }, (_, part) =>
      mean(({ earned, possible }) => (earned[part] as number) / (possible[part] as number)),
    );
    const all = mean(({ earned, possible }) => sum(earned) / sum(possible));
    const first = mean(({ firstShare }) => firstShare[parts - 1] as number);
    const steps = tenths.map((share) => (100 * share).toFixed(0)).join(' ');
    const { changesAt } = worlds[index] as World;
    const starts = changesAt === undefined ? [0] : [0, changesAt];
    const until = starts.map((from) => answersUntilReached(runs, from) ?? '–').join(', then ');
    lines.push(`| ${name} | ${policyName} | ${percent(all)} | ${steps} | ${percent(first)} | ${until} |`);
    process.stdout.write(`${lines.at(-1)} ${((performance.now() - began) / 1000).toFixed(1)} s\n`);
  }
}
process.stdout.write(`${((performance.now() - started) / 1000).toFixed(0)} s\n`);
const text = `# money

${seeds} seeded worlds of each kind with known true rates (bench/money/ranking-worlds.ts), simulated with the engine's
own decision and learning code on a simulated clock. All rankings receive events every two seconds. The table shows the
true expected revenue as a share of the revenue of a ranking that knows the true rates, over the whole run and in each
tenth of it. It also shows after how many responses the next ${window} earn ${100 * reached}% of that, on average over
all seeds. The logistic sampler stores the full covariance of each offer, and learns immediately if no click will come.

${worlds.map(({ name, what, answers }) => `- **${name}**: ${what}; ${answers} responses`).join('\n')}

${lines.join('\n')}
`;
if (only === '' && onlyPolicy === '') writeFileSync('bench/results/money.md', text);
