/*
 * Simulates experiments, and prints how often their reports are wrong: npm run bench:experiments
 * Every world has its own seed, so all runs print the same figures.
 */
import { writeFileSync } from 'node:fs';
import { usersNeeded } from '../../src/experiments/statistics/checks.ts';
import { linearised, ratioOf } from '../../src/experiments/statistics/moments.ts';
import { alarms, anyWins, isCalledDifferent, type Run, runWorld, sampleOf, type World } from './worlds.ts';

const runs = 1000;
/** Number of runs for results in which one percentage point matters. The standard error of the share is then 0.2%. */
const manyRuns = 10 * runs;
const percent = (part: number, digits = 1): string => `${(part * 100).toFixed(digits)}%`;
const runMany = (world: World, firstSeed: number, count = runs): Run[] =>
  Array.from({ length: count }, (_, at) => runWorld(world, firstSeed + at));
const share = (results: readonly Run[], is: (run: Run) => boolean): number =>
  results.filter(is).length / results.length;

const days = 28;
const planning = sampleOf(200_000, 1, { lift: 0, explained: 0 });
const lift = 0.08;
const needed = usersNeeded({
  mean: ratioOf(planning),
  variance: linearised(planning).z,
  lift,
  shares: [0.5, 0.5] as const,
  alpha: 0.05,
});
const usersPerDay = Math.ceil(needed / 2 / days);
const world = { days, usersPerDay, explained: 0 };

const same = runMany({ ...world, lift: 0 }, 1_000_000);
const real = runMany({ ...world, lift }, 2_000_000, manyRuns);
const withHistory = runMany({ ...world, lift, explained: 0.5 }, 3_000_000);
const sparse = runMany({ ...world, lift: 0, paying: 0.03 }, 6_000_000);
const often = (count: number, is: (seed: number) => boolean, firstSeed: number): number =>
  Array.from({ length: count }, (_, at) => is(firstSeed + at)).filter(Boolean).length / count;
const small = { days: 14, usersPerDay: 60, explained: 0.5 };
const ratioWorld = { days, usersPerDay: 75_000 };
const check = (lost: number, firstSeed: number): number =>
  often(manyRuns, (seed) => alarms({ ...ratioWorld, lost }, seed), firstSeed);
const thousands = Array.from({ length: manyRuns / runs }, (_, at) =>
  share(real.slice(at * runs, (at + 1) * runs), (run) => run.coveredAtTheEnd),
);
const lastDay = share(real, (run) => run.coveredAtTheEnd);
const distance = Math.abs(lastDay - 0.95) / Math.sqrt((0.95 * 0.05) / manyRuns);
const explained = withHistory.reduce((sum, run) => sum + run.explained, 0) / runs;

const rows: [string, string, string][] = [
  [
    `A/A, ${runs} experiments, analysed on each of ${days} days: false winners`,
    '≤ 5%',
    percent(share(same, (run) => run.wasSignificant)),
  ],
  [
    'always-valid intervals of difference and lift contain the true value on every day, without an effect',
    '≥ 95%',
    percent(share(same, (run) => run.alwaysCovered)),
  ],
  ['false winners if only 3% of the users buy', '≤ 5%', percent(share(sparse, (run) => run.wasSignificant))],
  [
    'false winners among four arms against one control',
    '≤ 5%',
    percent(often(runs, (seed) => anyWins({ ...small, arms: 4 }, seed), 7_000_000)),
  ],
  [
    `always-valid intervals with an effect of ${percent(lift, 0)}`,
    '≥ 95%',
    percent(share(real, (run) => run.alwaysCovered)),
  ],
  [
    `last-day interval (normal, 1.96 standard errors) contains the true value, ${manyRuns} experiments`,
    '93–97%',
    percent(lastDay),
  ],
  [
    `lowest and highest share per ${runs} of these experiments`,
    '',
    [Math.min(...thousands), Math.max(...thousands)].map((part) => percent(part)).join(', '),
  ],
  [
    `the same if only 3% of the users buy, ${runs} experiments`,
    '',
    percent(share(sparse, (run) => run.coveredAtTheEnd)),
  ],
  [
    `power for ${percent(lift, 0)} with the ${needed} users that the plan requires for 80%`,
    '75–85%',
    percent(share(real, (run) => run.wasSignificant)),
  ],
  [
    'users saved by prior activity (CUPED), if it explains half of the revenue per session',
    '≥ 20%',
    percent(explained),
  ],
  ['power with the same users and their prior activity', '', percent(share(withHistory, (run) => run.wasSignificant))],
  ['1% of one arm lost, 75,000 users per day: alarm during the experiment', '≥ 95%', percent(check(0.01, 4_000_000))],
  ['no users lost: false alarms during the experiment', '≤ 0.1%', percent(check(0, 5_000_000), 2)],
  [
    'users of one arm had 20% more prior activity, 840 users per arm: alarm',
    '',
    percent(often(runs, (seed) => isCalledDifferent({ ...small, more: 0.2 }, seed), 8_000_000)),
  ],
  [
    'equal prior activity: false alarms',
    '≤ 0.1%',
    percent(
      often(4 * runs, (seed) => isCalledDifferent({ ...small, more: 0 }, seed), 9_000_000),
      2,
    ),
  ],
];
const table = ['| What | Goal | Result |', '| --- | --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`)].join(
  '\n',
);
process.stdout.write(`${table}\n`);
writeFileSync(
  'bench/results/experiments.md',
  `# Statistics of experiments

\`npm run bench:experiments\`: simulated experiments with skewed revenue and several sessions per user. Every
run gives the same figures.

${table}

The interval in reports is an asymptotic confidence sequence: it covers the true value at all times simultaneously, so
it covers more than 95% at any single time. The price is its width: about 3.0 standard errors instead of 1.96.

The last-day interval should cover 95%. With ${runs} experiments, the measured coverage has a standard error of
0.7%, so a single thousand can be near an edge, like the first one (${percent(thousands[0] ?? 0)}). All ${manyRuns}
cover ${percent(lastDay)}, ${distance.toFixed(1)} standard errors from 95%: skewed revenue has little effect, if any.
`,
);
