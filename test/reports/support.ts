import { expect } from 'vitest';
import { dayOf } from '../../src/platform/lib/time.ts';
import type { Metrics } from '../../src/reports/query/metrics.ts';
import { type ActivityQuery, type ActivityRow, queryActivity } from '../../src/reports/query/query.ts';
import { type Difference, verifyRollups } from '../../src/reports/reconcile/verify.ts';
import { fold } from '../../src/reports/rollup/statement.ts';
import type { TestApp } from '../support/test-app.ts';

/** Folds until everything committed is in the reports. @returns how much was taken */
export async function foldAll({ pool }: Pick<TestApp, 'pool'>, nowMs = Date.now()): Promise<number> {
  for (let taken = 0; ; ) {
    const { facts, complete } = await fold(pool, nowMs, 1e9);
    taken += facts ?? 0;
    if (complete && facts !== null) return taken;
  }
}

/** Today's activity of the test publisher, by UTC. */
export function activity(
  { pool, publisher, deps }: TestApp,
  asked: Partial<ActivityQuery> = {},
): Promise<ActivityRow[]> {
  const today = dayOf(deps.now());
  return queryActivity(pool, {
    publisherId: publisher.id,
    from: today,
    to: today,
    aggregatedBy: 'day',
    groupBy: [],
    filters: {},
    customKey: null,
    customValues: null,
    timeZone: 'UTC',
    ...asked,
  });
}

/** What the sums of today and the raw rows disagree about. */
export async function differences({ pool }: Pick<TestApp, 'pool'>): Promise<Difference[]> {
  const client = await pool.connect();
  const today = dayOf(Date.now());
  try {
    return (await verifyRollups(client, today, today)).differences;
  } finally {
    client.release();
  }
}

/** The metrics that are not zero. */
export const nonZero = (metrics: Metrics | undefined): Partial<Metrics> =>
  Object.fromEntries(Object.entries(metrics ?? {}).filter(([, value]) => value !== 0));

/** `{ value: its non-zero metrics }` of rows grouped by one dimension. */
export const byGroup = (rows: readonly ActivityRow[]): Record<string, Partial<Metrics>> => {
  expect(new Set(rows.map((row) => row.time)).size).toBeLessThanOrEqual(1);
  return Object.fromEntries(rows.map((row) => [row.group.join(' '), nonZero(row.metrics)]));
};
