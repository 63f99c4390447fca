import { expect, test } from 'vitest';
import { pauseAfter } from '../../../src/reports/rollup/job.ts';

test('folds that take longer are fewer, and what happened is counted within 1.6 seconds as long as two folds fit into it', () => {
  expect(pauseAfter(5)).toBe(400);
  expect(pauseAfter(40)).toBe(800);
  for (const tookMs of [1, 10, 60, 100, 300, 700, 800]) {
    const latestMs = tookMs + pauseAfter(tookMs) + tookMs;
    expect(latestMs, `${tookMs} ms`).toBeLessThanOrEqual(1600);
  }
  expect(pauseAfter(5000)).toBe(0);
});
