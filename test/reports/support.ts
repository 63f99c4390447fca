import { expect } from 'vitest';
import { dayOf } from '../../src/platform/lib/time.ts';
import { type Metrics, metricNames } from '../../src/reports/metrics.ts';
import { queryActivity } from '../../src/reports/query/query.ts';
import type { ActivityQuery, ActivityRow } from '../../src/reports/query/types.ts';
import { dayBit, keptGrains, weekBit } from '../../src/reports/rollup/grains.ts';
import { rollUp } from '../../src/reports/rollup/roll-up.ts';
import { weekStartSql } from '../../src/reports/rollup/weeks.ts';
import { type Difference, verifyRollups } from '../../src/reports/verify.ts';
import type { TestBase } from '../support/test-modules.ts';

/**
 * Rolls up until everything committed is in the reports.
 * @returns number of events found
 */
export async function rollUpAll({ pool }: Pick<TestBase, 'pool'>, nowMs = Date.now()): Promise<number> {
  for (let eventCount = 0; ; ) {
    const { events, complete } = await rollUp(pool, nowMs, 1e9);
    eventCount += events ?? 0;
    if (complete && events !== null) return eventCount;
  }
}

/** Returns today's activity of the test publisher, in UTC. */
export function activity(
  { pool, publisher, deps }: TestBase,
  query: Partial<ActivityQuery> = {},
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
    ...query,
  });
}

/** Returns the differences between the rollups of a day (default: today) and the raw rows. */
export async function differences({ pool }: Pick<TestBase, 'pool'>, nowMs = Date.now()): Promise<Difference[]> {
  const client = await pool.connect();
  const today = dayOf(nowMs);
  try {
    return (await verifyRollups(client, today, today)).differences;
  } finally {
    client.release();
  }
}

/** Returns only the metrics that are not zero. */
export const nonZero = (metrics: Metrics | undefined): Partial<Metrics> =>
  Object.fromEntries(Object.entries(metrics ?? {}).filter(([, value]) => typeof value === 'number' && value !== 0));

/** Returns `{ value: its non-zero metrics }` for rows that are grouped by one dimension. */
export const byGroup = (rows: readonly ActivityRow[]): Record<string, Partial<Metrics>> => {
  expect(new Set(rows.map((row) => row.time)).size).toBeLessThanOrEqual(1);
  return Object.fromEntries(rows.map((row) => [row.group.join(' '), nonZero(row.metrics)]));
};

/** Activity within one hour, for `addSums`. */
export type HourFact = { at: Date; placement: string; offerId: number } & Partial<Metrics> & {
    country?: string;
    device?: string;
    os?: string;
    campaignId?: number;
  };

const factColumns = ['publisher_id', 'at', 'placement', 'offer_id', 'campaign_id', 'country', 'device', 'os'];

/** Adds generated rollup rows of every grain, as they would be stored in UTC, but without the raw rows. */
export async function addSums({ pool, publisher }: TestBase, facts: readonly HourFact[]): Promise<void> {
  const rows = facts.map(({ at, offerId, campaignId = 1, country = 'DE', device = 'mobile', os = 'ios', ...fact }) => ({
    ...Object.fromEntries(metricNames.map((name) => [name, 0])),
    ...fact,
    at,
    country,
    device,
    os,
    publisher_id: publisher.id,
    offer_id: offerId,
    campaign_id: campaignId,
  }));
  const types = [...factColumns.map((name) => [name, typeOf(name)]), ...metricNames.map((name) => [name, 'bigint'])];
  for (const grain of keptGrains) {
    const selectColumn = (bit: number, column: string, otherwise: string): string => (grain & bit ? column : otherwise);
    await pool.query(
      `insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id,
        ${metricNames.join(', ')})
      select publisher_id, ${grain}, ${bucketOf(grain)},
        ${selectColumn(1, 'placement', "''")}, ${selectColumn(2, 'offer_id', '0')}, ${selectColumn(4, 'country', "''")},
        ${selectColumn(8, 'device', "''")}, ${selectColumn(8, 'os', "''")}, ${selectColumn(2, 'campaign_id', '0')},
        ${metricNames.map((name) => `sum(${name})`).join(', ')}
      from json_to_recordset($1) as fact (${types.map(([name, type]) => `${name} ${type}`).join(', ')})
      group by 1, 2, 3, 4, 5, 6, 7, 8, 9`,
      [JSON.stringify(rows)],
    );
  }
  await addMoneyOfSums(pool);
}

/** Adds the campaign currencies to rollup revenue that was stored without a currency. */
export async function addMoneyOfSums(pool: TestBase['pool']): Promise<void> {
  await pool.query("select complete_rollup_money('-infinity', 'infinity')");
}

function bucketOf(grain: number): string {
  if (grain & weekBit) return weekStartSql('at');
  return `date_trunc('${grain & dayBit ? 'day' : 'hour'}', at, 'UTC')`;
}

function typeOf(column: string): string {
  if (column === 'at') return 'timestamptz';
  return column.endsWith('_id') ? 'integer' : 'text';
}
