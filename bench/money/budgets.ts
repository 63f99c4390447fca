import { writeFileSync } from 'node:fs';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { openStage } from '../stage.ts';
import { type BudgetVerdict, playBudget } from './budget-play.ts';
import { openBudgetStage } from './budget-stage.ts';
import { type BudgetWorld, budgetWorlds } from './budget-world.ts';

/**
 * Campaigns with budgets, caps and goals, played through the real application on a real database by a simulated clock:
 * `npm run bench:money -- budgets`; `npm run bench:money -- budgets humps`: those worlds whose names match.
 */
const only = process.argv[3] ?? '';

const amount = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(2));
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const rowOf = (world: BudgetWorld, found: BudgetVerdict): string => {
  const { limit, booked, unbilled, shown, shownFirst, silenceS, bookedAtS, offPlan, falseEvents } = found;
  const isMoney = world.plan === undefined;
  const late = isMoney ? percent(booked + unbilled === 0 ? 0 : unbilled / (booked + unbilled)) : '–';
  const fastest = bookedAtS === null ? '–' : `${bookedAtS} s`;
  const figures = [
    amount(limit),
    amount(booked),
    percent(booked / limit),
    late,
    fastest,
    shown,
    shownFirst,
    `${silenceS} s`,
  ];
  const plan = world.plan === undefined || offPlan === null ? '–' : percent(offPlan);
  return `| ${[world.name, ...figures, plan, isMoney ? falseEvents : '–'].join(' | ')} |`;
};

const lines = [
  '| World | limit | booked | of the limit | unbilled | 99 % booked after | shown | in the first 30 s ' +
    '| longest silence | farthest from the plan | false `budget_reached` |',
  '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
];
const stage = await openStage(undefined, false);
let broken = 0;
try {
  const tomorrowMs = Math.floor(Date.now() / dayMs + 1) * dayMs;
  for (const [index, world] of budgetWorlds.entries()) {
    if (!new RegExp(only).test(world.name)) continue;
    const began = performance.now();
    const clock = { nowMs: tomorrowMs + world.startHour * hourMs };
    const options = { name: `world_${index}`, processes: world.processes, now: () => clock.nowMs };
    const opened = await openBudgetStage(stage.databaseUrl, options);
    try {
      const found = await playBudget(opened, world, { clock, seed: index + 1 });
      if (world.goal === undefined && found.booked > found.limit) broken += 1;
      lines.push(rowOf(world, found));
    } finally {
      await opened.close();
    }
    process.stdout.write(`${lines.at(-1)} ${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  }
} finally {
  await stage.close();
}
const text = `# budgets

Campaigns with budgets, caps and goals, beside one that pays little and is always there, played through the real
application (fetch, beacons, clicks, conversions, jobs) on a real database by a simulated clock
(bench/money/budget-world.ts). Clicks come 5 to 60 s after their impression unless said, conversions as long after
their click. Each world has one seed. “Booked” is summed from the events and bookings themselves.

${budgetWorlds.map(({ name, what }) => `- **${name}**: ${what}`).join('\n')}

${lines.join('\n')}

Goals: booked ≤ limit, always; ≥ 99 % booked where traffic allows; unbilled ≤ 2 %; within 3 % of the plan at each hour;
no silence longer than 1/50 of the period while there is traffic and room; no false event.
`;
if (only === '') writeFileSync('bench/results/budgets.md', text);
process.exit(broken === 0 ? 0 : 1);
