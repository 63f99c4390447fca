import { dayMs, dayOf, hourMs, minuteMs } from '../../platform/lib/time.ts';
import { instantOf, offsetMs } from '../../platform/lib/time-zone.ts';

/** Sending intervals of a report: daily, on Mondays, or on the first day of a month. */
export const periods = ['day', 'week', 'month'] as const;
export type Period = (typeof periods)[number];
export const isPeriod = (name: string): name is Period => periods.some((period) => period === name);

/**
 * Maximum number of days to search for the next due time. It is longer than any month, so that it also covers a clock
 * change.
 */
const maxDays = 33;
const monday = 1;

/**
 * Returns the next due time after a given time. A report is due at the given local hour on the first day of its period.
 * If a clock change skips that hour, the report is due at the next hour, but no later than the last minute of the day.
 */
export function nextDueMs({ period, hour }: { period: Period; hour: number }, zone: string, afterMs: number): number {
  const localDayMs = Date.parse(dayOf(afterMs + offsetMs(zone, afterMs)));
  for (let ahead = 0; ahead < maxDays; ahead++) {
    const dayStartMs = localDayMs + ahead * dayMs;
    const day = new Date(dayStartMs);
    if (period === 'week' && day.getUTCDay() !== monday) continue;
    if (period === 'month' && day.getUTCDate() !== 1) continue;
    const lastMs = instantOf(zone, dayStartMs + dayMs) - minuteMs;
    const dueMs = Math.min(instantOf(zone, dayStartMs + hour * hourMs), lastMs);
    if (dueMs > afterMs) return dueMs;
  }
  throw new Error('no time is due');
}
