import { dayMs, dayOf, hourMs, minuteMs } from '../../platform/lib/time.ts';
import { instantOf, offsetMs } from '../../platform/lib/time-zone.ts';

/** Sending interval of a report: daily, on Mondays, or on the first of a month. */
export const periods = ['day', 'week', 'month'] as const;
export type Period = (typeof periods)[number];
export const isPeriod = (name: string): name is Period => periods.some((period) => period === name);

/** Longer than a month and a clock change, in days. */
const maxDays = 33;
const monday = 1;

/**
 * Returns the next time after another at which a period's local hour begins. If a clock change skips the hour, it is
 * the next hour; at the end of a day, it is the last minute of that day, which the report covers.
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
