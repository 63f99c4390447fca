import type { Executor } from '../src/platform/db/pool.ts';
import { weeksOfDaysSql } from '../src/reports/rollup/weeks.ts';

/** Adds the weeks of all days of sums, like rollups. */
export async function addWeeks(executor: Executor): Promise<void> {
  await executor.query(`insert into rollups ${weeksOfDaysSql('true')}`);
}
