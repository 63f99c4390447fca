import { dayMs, hourMs, minuteMs } from './time.ts';

export type CalendarPeriod = 'hour' | 'day' | 'month' | 'lifetime';

/** Local time for an instant and an IANA zone. Results of `Intl` are cached for each quarter of an hour. */
const quarterMs = 15 * 60_000;

/** Maximum number of cached offsets: zones × recently used quarters of an hour. */
const maxKnown = 2000;
/** Maximum number of cached formats. Callers name zones in any case. */
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

/** Offset of local time from UTC (milliseconds); 0 for an unknown zone. Offsets change only at quarters of an hour. */
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

/** Minutes since Monday 00:00 local time: 0 to 10,079. */
export function minuteOfWeek(zone: string, atMs: number): number {
  const localMinutes = Math.floor((atMs + offsetMs(zone, atMs)) / minuteMs);
  const sinceMonday = localMinutes + 3 * 1440; // 1970-01-01 was a Thursday
  return ((sinceMonday % 10_080) + 10_080) % 10_080;
}

/** Start and end of the calendar period that contains an instant (epoch milliseconds). */
export function periodOf(per: CalendarPeriod, zone: string, atMs: number): { startMs: number; endMs: number } {
  if (per === 'lifetime') return { startMs: 0, endMs: Number.POSITIVE_INFINITY };
  if (per === 'hour') return hourOf(zone, atMs);
  const local = new Date(atMs + offsetMs(zone, atMs));
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), per === 'day' ? local.getUTCDate() : 1];
  const next = per === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1);
  return { startMs: instantOf(zone, Date.UTC(year, month, day)), endMs: instantOf(zone, next) };
}

/**
 * Hour that contains an instant. If clocks change by half an hour, the previous hour includes the remaining half hour,
 * as in reports.
 */
function hourOf(zone: string, atMs: number): { startMs: number; endMs: number } {
  const fullHour = (ms: number): number => ms - ((ms + offsetMs(zone, ms)) % hourMs);
  const startOf = (ms: number): number => fullHour(fullHour(ms));
  const startMs = startOf(atMs);
  const endMs = fullHour(atMs) + hourMs;
  return { startMs, endMs: startOf(endMs) === startMs ? fullHour(endMs) + hourMs : endMs };
}

/**
 * Converts a local time (milliseconds, as if it were UTC) to an instant. If clocks show it twice, it is the first one;
 * if a change skips it, the offset before the change applies.
 */
export function instantOf(zone: string, localMs: number): number {
  const before = localMs - offsetMs(zone, localMs - dayMs);
  const after = localMs - offsetMs(zone, localMs + dayMs);
  const [first, later] = [Math.min(before, after), Math.max(before, after)];
  return first + offsetMs(zone, first) === localMs ? first : later;
}

/** Minutes of `HH:MM`, 0 to 1440, or null for other text. */
export function minuteOf(text: string): number | null {
  const match = /^(\d{2}):(\d{2})$/.exec(text);
  const minutes = Number(match?.[1]) * 60 + Number(match?.[2]);
  return match !== null && Number(match[2]) < 60 && minutes <= 1440 ? minutes : null;
}

const rfc3339 = /^(?!000)(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i;

/**
 * Parses an RFC 3339 time to epoch milliseconds. Returns null if it is absent, and NaN if it is invalid or in a year
 * that no row can have.
 */
export function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, year, month, day] = rfc3339.exec(text) ?? [];
  // Date.UTC would read 31 February as 3 March.
  if (
    day === undefined ||
    new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() !== Number(day)
  )
    return Number.NaN;
  return Date.parse(text.toUpperCase());
}
