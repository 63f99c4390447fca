import { writeFileSync } from 'node:fs';
import { playForecast } from './play.ts';
import { forecastWorld } from './world.ts';

/** Measures forecasts in simulated worlds: `npm run bench:forecast -- COUNT SEED [write]`. */
const [count, firstSeed] = [Number(process.argv[2] ?? 50), Number(process.argv[3] ?? 1)];
const isWritten = process.argv[4] === 'write';

const names = ['sessions', 'impressions', 'clicks', 'spend', 'users'] as const;
type Name = (typeof names)[number];
type Result = { seed: number; what: string; name: Name; error: number; bias: number; isInside: boolean };

/** Minimum number of true impressions for a campaign to be compared. Below, chance alone decides. */
const leastImpressions = 100;

const results: Result[] = [];
const tooks: number[] = [];
let compared = 0;
for (let seed = firstSeed; compared < count; seed++) {
  const world = forecastWorld(seed);
  const began = performance.now();
  const { truth, forecast, tookMs } = playForecast(world, seed);
  tooks.push(tookMs);
  const isSmall = truth.impressions < leastImpressions;
  const line = names.map((name) => {
    const { low, mid, high } = forecast.totals[name];
    const is = truth[name];
    const isInside = is >= low && is <= high;
    if (!isSmall) {
      const error = Math.abs(mid - is) / Math.max(1, is);
      results.push({
        seed,
        what: world.what,
        name,
        error,
        bias: Math.log(Math.max(1, mid) / Math.max(1, is)),
        isInside,
      });
    }
    const text = (value: number): string => String(Math.round(name === 'spend' ? value / 1e6 : value));
    return `${name} ${text(is)} in ${text(low)}–${text(mid)}–${text(high)}${isInside ? '' : ' OUT'}`;
  });
  if (!isSmall) compared += 1;
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  process.stdout.write(
    `${seed} ${isSmall ? 'SMALL ' : ''}${line.join(' · ')} | ${Math.round(tookMs)} ms of ${seconds} s | ` +
      `${forecast.notes} | ${world.what}\n`,
  );
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;
const rows = names.map((name) => {
  const own = results.filter((result) => result.name === name);
  const inside = own.filter(({ isInside }) => isInside).length / own.length;
  const errors = own.map(({ error }) => error).sort((a, b) => b - a);
  const worst = errors.slice(0, Math.ceil(errors.length / 20));
  const bias = Math.exp(median(own.map((result) => result.bias))) - 1;
  const cells = [name, percent(inside), percent(median(errors)), percent(bias), worst.map(percent).join(', ')];
  return `| ${cells.join(' | ')} |`;
});
const worstOf = [...results].filter(({ name }) => name === 'impressions').sort((a, b) => b.error - a.error)[0];
const text = `# Forecasts

${count} campaigns in simulated worlds, from seed ${firstSeed} (bench/forecast/world.ts): 150 to 1,000 sessions a
day with weekdays, hours, growth, waves, noise and odd days; users who return and leave; 6 to 60 competitors with
targeting, budgets, pacing and frequency caps; clicks that depend on the device and the position. Some campaigns are
new, others are running. Decisions and rates come from the real decision engine and the real learner. Worlds in which
the campaign gets fewer than ${leastImpressions} impressions are left out.

| Figure | Truth inside the 80% interval | Median error | Median deviation | Worst 5% |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

A forecast took ${Math.round(median(tooks))} ms (median), at most ${Math.round(Math.max(...tooks))} ms. The largest
error of impressions is that of seed ${worstOf?.seed}.
`;
process.stdout.write(text);
if (isWritten) writeFileSync('bench/results/forecast.md', text);
