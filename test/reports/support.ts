import { expect } from 'vitest';
import { dayOf } from '../../src/platform/lib/time.ts';
import type { Metrics } from '../../src/reports/metrics.ts';
import { queryActivity } from '../../src/reports/query/query.ts';
import type { ActivityQuery, ActivityRow } from '../../src/reports/query/types.ts';
import { type Difference, verifyRollups } from '../../src/reports/reconcile/verify.ts';
import { rollUp } from '../../src/reports/rollup/roll-up.ts';
import type { TestApp } from '../support/test-app.ts';

/** Rolls up until everything committed is in the reports. @returns events that were found (count) */
export async function rollUpAll({ pool }: Pick<TestApp, 'pool'>, nowMs = Date.now()): Promise<number> {
  for (let found = 0; ; ) {
    const { events, complete } = await rollUp(pool, nowMs, 1e9);
    found += events ?? 0;
    if (complete && events !== null) return found;
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
    buckets: 'day',
    ...asked,
  });
}

/** Differences between the sums of today and the raw rows. */
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
