import {
  addImpressions,
  countUsers,
  createSketch,
  encodeSketch,
  mergeEncoded,
  type Sketch,
} from '../../src/reports/reach/sketch.ts';
import { measureRollupCost } from './rollup-cost.ts';

/*
 * Measures the error of reach for 1,000, 100,000 and 10 million users, in one sketch and merged from 30 days on which a
 * third of the users return. User keys are keyed hashes, so their hashes are random numbers.
 */

const sizes: readonly (readonly [users: number, repetitions: number])[] = [
  [1000, 20],
  [100_000, 20],
  [10_000_000, 3],
];
const days = 30;
const hashRange = 2 ** 40;

function measure(users: number): { error: number; mergedError: number; mergeMs: number; bytes: number } {
  const whole = createSketch();
  const byDay: Sketch[] = Array.from({ length: days }, createSketch);
  for (let user = 0; user < users; user += 1) {
    const hash = Math.floor(Math.random() * hashRange);
    addImpressions(whole, hash, 1);
    addImpressions(byDay[user % days] as Sketch, hash, 1);
    if (user % 3 === 0) addImpressions(byDay[(user + 7) % days] as Sketch, hash, 1);
  }
  const stored = byDay.map(encodeSketch);
  const merged = createSketch();
  const startMs = performance.now();
  for (const sketch of stored) mergeEncoded(merged, sketch);
  const mergedUsers = countUsers(merged);
  return {
    error: countUsers(whole) / users - 1,
    mergedError: mergedUsers / users - 1,
    mergeMs: performance.now() - startMs,
    bytes: encodeSketch(whole).length,
  };
}

const percent = (share: number): string => `${(100 * share).toFixed(2)}%`;
const rootMean = (errors: readonly number[]): number =>
  Math.sqrt(errors.reduce((sum, error) => sum + error * error, 0) / errors.length);
const largest = (errors: readonly number[]): number => Math.max(...errors.map(Math.abs));

console.log('| users | bytes | error (RMS) | largest error | 30 days merged (RMS) | largest error | merging 30 days |');
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const [users, repetitions] of sizes) {
  const runs = Array.from({ length: repetitions }, () => measure(users));
  const errors = runs.map(({ error }) => error);
  const merged = runs.map(({ mergedError }) => mergedError);
  const mergeMs = Math.max(...runs.map((run) => run.mergeMs));
  console.log(
    `| ${[
      users.toLocaleString('en'),
      (runs[0]?.bytes ?? 0).toLocaleString('en'),
      percent(rootMean(errors)),
      percent(largest(errors)),
      percent(rootMean(merged)),
      percent(largest(merged)),
      `≤ ${mergeMs.toFixed(0)} ms`,
    ].join(' | ')} |`,
  );
}
console.log(`\n${await measureRollupCost()}`);
