import { expect, test } from 'vitest';
import { pauseAfter } from '../../../src/reports/rollup/job.ts';

test('rollups run less often when slow, and count events within 1.6 s while two rollups fit into that', () => {
  expect(pauseAfter(5)).toBe(400);
  expect(pauseAfter(40)).toBe(800);
  for (const tookMs of [1, 10, 60, 100, 300, 700, 800]) {
    const latestMs = tookMs + pauseAfter(tookMs) + tookMs;
    expect(latestMs, `${tookMs} ms`).toBeLessThanOrEqual(1600);
  }
  expect(pauseAfter(5000)).toBe(0);
});
