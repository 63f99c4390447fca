import { dayMs } from '../../platform/lib/time.ts';
import { moneySumsSql, sumsSql } from '../metrics.ts';
import { dayBit, keptGrains, weekBit } from './grains.ts';

/*
 * A rollup week consists of 7 days from the 1st, 8th, 15th, 22nd or 29th of a UTC month, or of the remaining days of
 * the month. It contains the totals for the days that begin in it, in any time zone, so that a range of days can be
 * read as weeks and remaining days. A week never extends into the next month, so that it is dropped together with its
 * days.
 */

const weekDays = 7;

/** SQL for the start of the week that contains a time. */
export const weekStartSql = (at: string): string =>
  `date_bin('${weekDays} days', ${at}, date_trunc('month', ${at}, 'UTC'))`;

/** Returns the start of the week that contains a time, in epoch milliseconds. */
export function weekStartMs(atMs: number): number {
  const at = new Date(atMs);
  const date = at.getUTCDate();
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), date - ((date - 1) % weekDays));
}

/** Returns the start of the following week, in epoch milliseconds. */
export function nextWeekStartMs(atMs: number): number {
  const start = new Date(weekStartMs(atMs));
  const nextMonthMs = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1);
  return Math.min(start.getTime() + weekDays * dayMs, nextMonthMs);
}

const weekGrains = keptGrains.filter((grain) => grain & weekBit);

/**
 * Builds SQL that adds up the daily amounts to weekly amounts.
 * @param days condition on the daily rows
 */
export const moneyWeeksOfDaysSql = (days: string): string => `
select publisher_id, (grain + ${weekBit - dayBit})::smallint as grain, ${weekStartSql('bucket')} as bucket,
  placement, offer_id, country, device, os, currency, max(campaign_id) as campaign_id, ${moneySumsSql}
from rollup_money where grain in (${weekGrains.map((grain) => grain - weekBit + dayBit).join(', ')}) and ${days}
group by 1, 2, 3, placement, offer_id, country, device, os, currency`;

/**
 * Builds SQL for the expected weekly rows, added up from the daily rows. The result has the same columns as `rollups`.
 * @param days condition on the daily rows
 */
export const weeksOfDaysSql = (days: string): string => `
select publisher_id, (grain + ${weekBit - dayBit})::smallint as grain, ${weekStartSql('bucket')} as bucket,
  placement, offer_id, country, device, os, max(campaign_id) as campaign_id, ${sumsSql}
from rollups where grain in (${weekGrains.map((grain) => grain - weekBit + dayBit).join(', ')}) and ${days}
group by 1, 2, 3, placement, offer_id, country, device, os`;
