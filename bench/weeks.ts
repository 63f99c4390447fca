import type { Executor } from '../src/platform/db/pool.ts';
import { weeksOfDaysSql } from '../src/reports/rollup/weeks.ts';

/** Adds the amounts of all rollups in a single currency, the default of campaigns. */
export async function addMoney(executor: Executor): Promise<void> {
  await executor.query(
    `insert into rollup_money (publisher_id, grain, bucket, placement, offer_id, country, device, os, currency,
      campaign_id, revenue_micros, unbilled_micros)
    select publisher_id, grain, bucket, placement, offer_id, country, device, os, 'USD', campaign_id, revenue_micros,
      unbilled_micros from rollups`,
  );
}

/** Adds weekly rollups for all days that have daily rollups, like the rollup job does. */
export async function addWeeks(executor: Executor): Promise<void> {
  await executor.query(`insert into rollups ${weeksOfDaysSql('true')}`);
}
