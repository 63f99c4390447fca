import { writeFileSync } from 'node:fs';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { openStage } from '../stage.ts';
import { type BudgetVerdict, playBudget } from './budget-play.ts';
import { openBudgetStage } from './budget-stage.ts';
import { type BudgetWorld, budgetWorlds } from './budget-world.ts';

/**
 * Simulates campaigns with budgets, caps and goals in the real application, on a real database with a simulated clock:
 * `npm run bench:money -- budgets`. To run only the worlds whose names match, with 3 seeds: `npm run bench:money --
 * budgets peaks 3`.
 */
const only = process.argv[3] ?? '';
const seedsOf = ({ plan }: BudgetWorld): number => Number(process.argv[4] ?? (plan === undefined ? 5 : 1));

const amount = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(2));
const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;

/** Formats the median over several seeds, and the worst value if it differs. */
function spread(values: readonly number[], text: (value: number) => string, isHighBad = true): string {
  const sorted = [...values].sort((a, b) => (isHighBad ? a - b : b - a));
  const [median, worst] = [sorted[Math.floor((sorted.length - 1) / 2)] as number, sorted.at(-1) as number];
  return median === worst ? text(median) : `${text(median)}, ${text(worst)}`;
}

const seconds = (value: number): string => (Number.isFinite(value) ? `${value} s` : '–');

function rowOf(world: BudgetWorld, runs: readonly BudgetVerdict[]): string {
  const isMoney = world.plan === undefined;
  const spreadOf = (of: (run: BudgetVerdict) => number, text: (value: number) => string = String, isHighBad = true) =>
    spread(runs.map(of), text, isHighBad);
  const { limit } = runs[0] as BudgetVerdict;
  const figures = [
    amount(limit),
    spreadOf(({ booked }) => booked, amount, false),
    spreadOf(({ booked }) => booked / limit, percent, false),
    isMoney ? spreadOf(({ booked, unbilled }) => unbilled / (booked + unbilled || 1), percent) : '–',
    spreadOf(({ bookedAtS }) => bookedAtS ?? Number.POSITIVE_INFINITY, seconds),
    spreadOf(({ impressions }) => impressions),
    spreadOf(({ shownFirst }) => shownFirst),
    spreadOf(({ silenceS }) => silenceS, seconds),
    isMoney ? '–' : spreadOf(({ offPlan }) => offPlan ?? 0, percent),
    isMoney ? runs.reduce((sum, { falseEvents }) => sum + falseEvents, 0) : '–',
  ];
  return `| ${[world.name, runs.length, ...figures].join(' | ')} |`;
}

const lines = [
  '| World | seeds | limit | booked | share of the limit | unbilled | 99% booked after | shown | in the first 30 s ' +
    '| longest gap | largest deviation from the plan | false `budget_reached` |',
  '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
];
const stage = await openStage(undefined, false);
let broken = 0;
try {
  const tomorrowMs = Math.floor(Date.now() / dayMs + 1) * dayMs;
  for (const [index, world] of budgetWorlds.entries()) {
    if (!new RegExp(only).test(world.name)) continue;
    const began = performance.now();
    const runs: BudgetVerdict[] = [];
    for (let seed = 1; seed <= seedsOf(world); seed++) {
      const clock = { nowMs: tomorrowMs + world.startHour * hourMs };
      const options = { name: `world_${index}_${seed}`, processes: world.processes, now: () => clock.nowMs };
      const opened = await openBudgetStage(stage.databaseUrl, options);
      try {
        const verdict = await playBudget(opened, world, { clock, seed });
        if (world.goal === undefined && verdict.booked > verdict.limit) broken += 1;
        runs.push(verdict);
      } finally {
        await opened.close();
      }
    }
    lines.push(rowOf(world, runs));
    process.stdout.write(`${lines.at(-1)} ${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  }
} finally {
  await stage.close();
}
const text = `# budgets

Campaigns with budgets, caps and goals compete with a low-paying campaign that is always available. The real
application (fetch, beacons, clicks, conversions, jobs) runs on a real database with a simulated clock
(bench/money/budget-world.ts). Unless stated otherwise, clicks follow 5 to 60 s after their impression, and conversions
the same time after their click. “Booked” is summed from the events and bookings themselves. For several seeds, the
table shows the median, and the worst value if it differs (for false events, their total). With a budget of 40 events,
one unbilled event is 2.4%.

${budgetWorlds.map(({ name, what }) => `- **${name}**: ${what}`).join('\n')}

${lines.join('\n')}

Goals: always booked ≤ limit; ≥ 99% booked if traffic allows; unbilled ≤ 2%; within 3% of the plan at each hour;
no gap longer than 1/50 of the period while there is traffic and the limit is not reached; no false events.
`;
if (only === '') writeFileSync('bench/results/budgets.md', text);
process.exit(broken === 0 ? 0 : 1);
