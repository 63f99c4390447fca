import { timeOf } from '../platform/lib/time-zone.ts';

/** Maximum time by which a sender's clock may be ahead, in milliseconds. */
const aheadMs = 60_000;

/** Event field whose time could not be used. */
export type TimeProblem = { field: string; reason: 'unreadable_time' | 'future_time' };

const fields = ['timestamp', 'originalTimestamp'] as const;

/**
 * Reads the event time from `timestamp` or `originalTimestamp`, whichever is valid first. If neither is valid, returns
 * the arrival time. A future time is also replaced with the arrival time, so that an event from a fast clock does not
 * supersede later events.
 */
export function readEventTime(
  event: Readonly<Record<string, unknown>>,
  nowMs: number,
): { atMs: number; problems: TimeProblem[] } {
  const problems: TimeProblem[] = [];
  for (const field of fields) {
    const value = event[field];
    if (value === undefined || value === null || value === '') continue;
    const atMs = timeOfValue(value);
    if (atMs === null) problems.push({ field, reason: 'unreadable_time' });
    else {
      if (atMs > nowMs + aheadMs) problems.push({ field, reason: 'future_time' });
      return { atMs: Math.min(atMs, nowMs), problems };
    }
  }
  return { atMs: nowMs, problems };
}

const unix = /^(\d{10}(?:\.\d{1,9})?|\d{13}(?:\.\d{1,9})?)$/;
const loose = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?) ?(?:([Zz])|([+-]\d{2}):?(\d{2}))$/;

/**
 * Parses a time in the formats that SDKs send and returns epoch milliseconds:
 * - ISO 8601 with an offset, optionally with a space instead of `T` or without a colon in the offset
 * - seconds (10 digits) or milliseconds (13 digits) since 1970
 * - null for anything else, such as a local time without an offset
 */
function timeOfValue(value: unknown): number | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value).trim();
  const [, number] = unix.exec(text) ?? [];
  if (number !== undefined) return Math.round(Number(number) * (number.split('.')[0]?.length === 10 ? 1000 : 1));
  const [, date, time = '', utc, hours, minutes] = loose.exec(text) ?? [];
  if (date === undefined) return null;
  const atMs = timeOf(`${date}T${time.replace(',', '.')}${utc ?? `${hours}:${minutes}`}`);
  return atMs === null || Number.isNaN(atMs) ? null : atMs;
}
