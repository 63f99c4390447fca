import type { Executor } from '../src/platform/db/pool.ts';
import { weeksOfDaysSql } from '../src/reports/rollup/weeks.ts';

/** Adds weekly rollups for all days that have daily rollups, like the rollup job does. */
export async function addWeeks(executor: Executor): Promise<void> {
  await executor.query(`insert into rollups ${weeksOfDaysSql('true')}`);
}
