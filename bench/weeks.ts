import type { Executor } from '../src/platform/db/pool.ts';
import { weeksOfDaysSql } from '../src/reports/rollup/weeks.ts';

/** Adds the weekly sums for all days that have sums, as rollups do. */
export async function addWeeks(executor: Executor): Promise<void> {
  await executor.query(`insert into rollups ${weeksOfDaysSql('true')}`);
}
