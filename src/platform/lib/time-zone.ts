import { dayMs, hourMs, minuteMs } from './time.ts';

export type CalendarPeriod = 'hour' | 'day' | 'month' | 'lifetime';

/** Granularity at which time zone offsets are cached, in milliseconds. One `Intl` result is cached per quarter-hour. */
const quarterMs = 15 * 60_000;

/** Maximum number of cached offsets, one per time zone and quarter-hour. */
const maxKnown = 2000;
/**
 * Maximum number of cached formatters. The limit is needed because callers may write time zone names with any
 * capitalisation.
 */
const maxFormats = 600;

const formats = new Map<string, Intl.DateTimeFormat>();
const offsets = new Map<string, number>();

export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    if (formats.size >= maxFormats) formats.clear();
    formats.set(zone, format);
  }
  return format;
}

/**
 * Returns the offset of local time from UTC, in milliseconds, or 0 for an unknown time zone. Offsets change only on the
 * quarter-hour.
 */
export function offsetMs(zone: string, atMs: number): number {
  if (zone === 'UTC') return 0;
  const quarter = Math.floor(atMs / quarterMs);
  const key = `${zone} ${quarter}`;
  let offset = offsets.get(key);
  if (offset === undefined) {
    const startMs = quarter * quarterMs;
    offset = isTimeZone(zone) ? localOf(zone, startMs) - startMs : 0;
    if (offsets.size >= maxKnown) offsets.clear();
    offsets.set(key, offset);
  }
  return offset;
}

function localOf(zone: string, atMs: number): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(atMs)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Returns the number of minutes since Monday 00:00 local time, from 0 to 10,079. */
export function minuteOfWeek(zone: string, atMs: number): number {
  const localMinutes = Math.floor((atMs + offsetMs(zone, atMs)) / minuteMs);
  const sinceMonday = localMinutes + 3 * 1440; // 1970-01-01 was a Thursday
  return ((sinceMonday % 10_080) + 10_080) % 10_080;
}

/** Returns the start and end of the calendar period that contains an instant, in epoch milliseconds. */
export function periodOf(per: CalendarPeriod, zone: string, atMs: number): { startMs: number; endMs: number } {
  if (per === 'lifetime') return { startMs: 0, endMs: Number.POSITIVE_INFINITY };
  if (per === 'hour') return hourOf(zone, atMs);
  const local = new Date(atMs + offsetMs(zone, atMs));
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), per === 'day' ? local.getUTCDate() : 1];
  const next = per === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1);
  return { startMs: instantOf(zone, Date.UTC(year, month, day)), endMs: instantOf(zone, next) };
}

/**
 * Returns the hour that contains an instant. If clocks change by half an hour, the remaining half hour belongs to the
 * previous hour, as in reports.
 */
function hourOf(zone: string, atMs: number): { startMs: number; endMs: number } {
  const fullHour = (ms: number): number => ms - ((ms + offsetMs(zone, ms)) % hourMs);
  const startOf = (ms: number): number => fullHour(fullHour(ms));
  const startMs = startOf(atMs);
  const endMs = fullHour(atMs) + hourMs;
  return { startMs, endMs: startOf(endMs) === startMs ? fullHour(endMs) + hourMs : endMs };
}

/**
 * Converts a local time to an instant. `localMs` is in milliseconds, as if the local time were UTC. If the local time
 * occurs twice, the first occurrence is used. If a clock change skips it, the offset before the change applies.
 */
export function instantOf(zone: string, localMs: number): number {
  const before = localMs - offsetMs(zone, localMs - dayMs);
  const after = localMs - offsetMs(zone, localMs + dayMs);
  const [first, later] = [Math.min(before, after), Math.max(before, after)];
  return first + offsetMs(zone, first) === localMs ? first : later;
}

/** Parses a time of day such as `HH:MM` to minutes since midnight, from 0 to 1440. Returns null for any other text. */
export function minuteOf(text: string): number | null {
  const match = /^(\d{2}):(\d{2})$/.exec(text);
  const minutes = Number(match?.[1]) * 60 + Number(match?.[2]);
  return match !== null && Number(match[2]) < 60 && minutes <= 1440 ? minutes : null;
}

const rfc3339 = /^(?!000)(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i;

/**
 * Parses an RFC 3339 time to epoch milliseconds. Returns null if the text is absent, or NaN if it is invalid or its
 * year cannot be stored.
 */
export function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, year, month, day] = rfc3339.exec(text) ?? [];
  // Check the day, because Date.UTC would interpret 31 February as 3 March.
  if (
    day === undefined ||
    new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() !== Number(day)
  )
    return Number.NaN;
  return Date.parse(text.toUpperCase());
}
