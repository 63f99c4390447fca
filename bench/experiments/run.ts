/*
 * Simulates experiments, and says how often their reports are wrong: npm run bench:experiments
 * Every world has its own seed, so each run prints the same.
 */
import { writeFileSync } from 'node:fs';
import { usersNeeded } from '../../src/experiments/statistics/checks.ts';
import { linearised, ratioOf } from '../../src/experiments/statistics/moments.ts';
import { alarms, type Run, runWorld, sampleOf, type World } from './worlds.ts';

const runs = 1000;
const percent = (part: number, digits = 1): string => `${(part * 100).toFixed(digits)} %`;
const runMany = (world: World, firstSeed: number): Run[] =>
  Array.from({ length: runs }, (_, at) => runWorld(world, firstSeed + at));
const share = (found: readonly Run[], is: (run: Run) => boolean): number => found.filter(is).length / found.length;

const days = 28;
const planning = sampleOf(200_000, 1, { lift: 0, explained: 0 });
const lift = 0.08;
const needed = usersNeeded({
  ...{ mean: ratioOf(planning), variance: linearised(planning).z },
  ...{ lift, shares: [0.5, 0.5] as const, alpha: 0.05 },
});
const usersPerDay = Math.ceil(needed / 2 / days);
const world = { days, usersPerDay, explained: 0 };

const same = runMany({ ...world, lift: 0 }, 1_000_000);
const real = runMany({ ...world, lift }, 2_000_000);
const withHistory = runMany({ ...world, lift, explained: 0.5 }, 3_000_000);
const ratioWorld = { days, usersPerDay: 75_000 };
const check = (lost: number, firstSeed: number): number =>
  Array.from({ length: 10 * runs }, (_, at) => alarms({ ...ratioWorld, lost }, firstSeed + at)).filter(Boolean).length /
  (10 * runs);
const explained = withHistory.reduce((sum, run) => sum + run.explained, 0) / runs;

const rows: [string, string, string][] = [
  [
    `A/A, ${runs} experiments, looked at on each of ${days} days: false winners`,
    '≤ 5 %',
    percent(share(same, (run) => run.wasSignificant)),
  ],
  [
    'always-valid interval holds the truth on every day, without an effect',
    '≥ 95 %',
    percent(share(same, (run) => run.alwaysCovered)),
  ],
  [`the same with an effect of ${percent(lift, 0)}`, '≥ 95 %', percent(share(real, (run) => run.alwaysCovered))],
  [
    'interval of the last day alone (normal, 1.96 standard errors) holds the truth',
    '93–97 %',
    percent(share(real, (run) => run.coveredAtTheEnd)),
  ],
  [
    `power for ${percent(lift, 0)} with the ${needed} users that the plan asks for 80 %`,
    '75–85 %',
    percent(share(real, (run) => run.wasSignificant)),
  ],
  ['users saved by what users did before (CUPED), where that explains much of a user', '≥ 20 %', percent(explained)],
  [`power with the same users and their history`, '', percent(share(withHistory, (run) => run.wasSignificant))],
  ['1 % of one arm lost, 75,000 users a day: alarm within the length', '≥ 95 %', percent(check(0.01, 4_000_000))],
  ['none lost: false alarms over the length', '≤ 0.1 %', percent(check(0, 5_000_000), 2)],
];
const table = ['| What | Wanted | Found |', '| --- | --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`)].join(
  '\n',
);
process.stdout.write(`${table}\n`);
writeFileSync(
  'bench/results/experiments.md',
  `# Statistics of experiments

\`npm run bench:experiments\`: simulated experiments with skewed revenue and several sessions of a user. The same in
every run.

${table}

The interval of reports is an asymptotic confidence sequence: it promises the truth at all times together, which is why
it covers more than 95 % at any one time. What it costs is width: about 3.0 standard errors instead of 1.96.
`,
);
