import { writeFileSync } from 'node:fs';
import { forecastOf, playFuture, playPast, type Truth } from './play.ts';
import { forecastWorld } from './world.ts';

/**
 * Measures forecasts in simulated worlds: `npm run bench:forecast -- COUNT SEED [write] [oracle] [busy]`. With
 * `oracle`, each world is played up to three times, which takes twice as long. With `busy`, publishers have 1,000 to
 * 5,000 sessions a day.
 */
const [count, firstSeed] = [Number(process.argv[2] ?? 50), Number(process.argv[3] ?? 1)];
const isWritten = process.argv.includes('write');
const hasOracle = process.argv.includes('oracle');
const sessionsPerDay = process.argv.includes('busy') ? ([1000, 5000] as const) : ([150, 1000] as const);

const names = ['sessions', 'impressions', 'clicks', 'spend', 'users'] as const;
type Name = (typeof names)[number];

/** Relative errors of a forecast, and of two oracles. */
type Errors = { forecast: number; oracle: number; rateUnknown: number };
type Result = Errors & { seed: number; name: Name; bias: number; isInside: boolean; isRunning: boolean };

/** Minimum number of true impressions for a campaign to be compared. Below it, the result is mostly chance. */
const leastImpressions = 100;

/**
 * Estimates the relative error of an oracle that knows the world's parameters. Two futures of a world differ from each
 * other the square root of 2 times as much as one future differs from the oracle's expectation.
 */
const oracleErrorOf = (name: Name, other: number, truth: number): number => errorOf(name, other, truth) / Math.SQRT2;

/** Relative error. The truth counts as at least one unit: a session, an event, or one unit of the currency. */
const errorOf = (name: Name, value: number, truth: number): number =>
  Math.abs(value - truth) / Math.max(name === 'spend' ? 1e6 : 1, truth);

const results: Result[] = [];
const tooks: number[] = [];
let compared = 0;
for (let seed = firstSeed; compared < count; seed++) {
  const world = forecastWorld(seed, { sessionsPerDay });
  const past = playPast(world, seed);
  const { log: _log, ...state } = past;
  const futureOf = (future: number, isRateUnknown: boolean): Truth =>
    playFuture(
      forecastWorld(seed, { sessionsPerDay, future, isRateUnknown }),
      { ...structuredClone(state), log: [] },
      seed,
      future,
    );
  const truth = futureOf(0, false);
  const isSmall = truth.impressions < leastImpressions;
  const { forecast, tookMs } = forecastOf(world, past, seed);
  tooks.push(tookMs);
  const secondFuture = isSmall || !hasOracle ? truth : futureOf(1, false);
  const rateUnknown = isSmall || !hasOracle || world.isRunning ? secondFuture : futureOf(1, true);
  const line = names.map((name) => {
    const { low, mid, high } = forecast.totals[name];
    const is = truth[name];
    const isInside = is >= low && is <= high;
    if (!isSmall)
      results.push({
        seed,
        name,
        forecast: errorOf(name, mid, is),
        oracle: oracleErrorOf(name, secondFuture[name], is),
        rateUnknown: oracleErrorOf(name, rateUnknown[name], is),
        bias: Math.log(Math.max(1, mid) / Math.max(1, is)),
        isInside,
        isRunning: world.isRunning,
      });
    const text = (value: number): string => String(Math.round(name === 'spend' ? value / 1e6 : value));
    return `${name} ${text(is)} in ${text(low)}–${text(mid)}–${text(high)}${isInside ? '' : ' OUT'}`;
  });
  if (!isSmall) compared += 1;
  process.stdout.write(
    `${seed} ${isSmall ? 'SMALL ' : ''}${line.join(' · ')} | ${Math.round(tookMs)} ms | ${forecast.notes} | ` +
      `${world.what}\n`,
  );
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;

/** Returns a row of the table: of all campaigns, or only of running or new ones. */
const rowOf = (name: Name, isRunning: boolean | null = null): string => {
  const own = results.filter((result) => result.name === name && (isRunning ?? result.isRunning) === result.isRunning);
  const errors = own.map(({ forecast }) => forecast);
  const worst = [...errors].sort((a, b) => b - a).slice(0, Math.ceil(errors.length / 20));
  const cells = [
    isRunning === null ? name : isRunning ? 'running campaigns' : 'new campaigns',
    percent(own.filter(({ isInside }) => isInside).length / own.length),
    percent(quantile(errors, 0.5)),
    percent(quantile(errors, 0.9)),
    worst.map(percent).join(', '),
    percent(
      Math.exp(
        quantile(
          own.map(({ bias }) => bias),
          0.5,
        ),
      ) - 1,
    ),
  ];
  return `| ${cells.join(' | ')} |`;
};

const floorRowOf = (name: Name): string => {
  const own = results.filter((result) => result.name === name);
  const [running, created] = [own.filter(({ isRunning }) => isRunning), own.filter(({ isRunning }) => !isRunning)];
  const medianOf = (list: readonly Result[], by: keyof Errors): string =>
    percent(
      quantile(
        list.map((result) => result[by]),
        0.5,
      ),
    );
  const cells = [
    ...[name, medianOf(running, 'forecast'), medianOf(running, 'oracle')],
    ...[medianOf(created, 'forecast'), medianOf(created, 'rateUnknown'), medianOf(created, 'oracle')],
  ];
  return `| ${cells.join(' | ')} |`;
};

const isRunningOf = new Map(results.map(({ seed, isRunning }) => [seed, isRunning]));
const running = [...isRunningOf.values()].filter((isRunning) => isRunning).length;
const floor = `
## Smallest possible error

An oracle knows all parameters of a world, such as the growth of its traffic and the true click rates, but not what
happens by chance. Its error is measured by playing each world a second time with different random numbers. A second
oracle does not know the click rate of a new campaign, only how the click rates are distributed. A forecast cannot be
expected to have smaller median errors than these:

| Figure | Running campaigns | Oracle | New campaigns | Oracle without the campaign's click rate | Oracle |
| --- | --- | --- | --- | --- | --- |
${names.map(floorRowOf).join('\n')}
`;
const text = `# Forecasts

${count} campaigns in simulated worlds, from seed ${firstSeed} (bench/forecast/world.ts): ${sessionsPerDay.join(' to ')}
sessions a day with weekdays, hours, growth, waves, noise and odd days; users who return and leave; 6 to 60 competing
campaigns with targeting, budgets, pacing and frequency caps; clicks that depend on the device and the position. Of the
campaigns, ${count - running} are new and ${running} are running. Decisions and rates come from the real decision engine
and the real learner. Worlds in which the campaign gets fewer than ${leastImpressions} impressions are left out.

| Figure | Truth inside the 80% interval | Median error | 90th percentile | Worst 5% | Median deviation |
| --- | --- | --- | --- | --- | --- |
${names.map((name) => rowOf(name)).join('\n')}

| Impressions | Truth inside the 80% interval | Median error | 90th percentile | Worst 5% | Median deviation |
| --- | --- | --- | --- | --- | --- |
${rowOf('impressions', true)}
${rowOf('impressions', false)}

A forecast took ${Math.round(quantile(tooks, 0.5))} ms (median), at most ${Math.round(Math.max(...tooks))} ms.
${hasOracle ? floor : ''}`;
process.stdout.write(text);
if (isWritten) writeFileSync('bench/results/forecast.md', text);
