import type { DayRange } from '../../../platform/http/day-range.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { offsetMs, periodOf } from '../../../platform/lib/time-zone.ts';
import { type Metrics, sumOf } from '../../metrics.ts';
import type { Explored } from '../../query/explore.ts';
import type { ActivityRow } from '../../query/types.ts';
import { dayText, type Periods } from './periods.ts';

/** Day or hour in the chart. `now` is null for times in the future, and `before` is null if there is no comparison. */
export type Slot = {
  /** Day such as `2026-11-21`, or start of the hour in ISO 8601. */
  value: string;
  text: string;
  /** Start time, in epoch milliseconds. For a day, this is midnight UTC of the same calendar day. */
  atMs: number;
  now: Metrics | null;
  before: Metrics | null;
  /** Day or hour of `before`. Null if there is no comparison, or if only a part of the day is compared. */
  beforeValue: string | null;
};

/**
 * Returns all days or hours in the range, each with its counterpart in the comparison period. Days or hours without
 * activity are included.
 */
export function slotsOf(periods: Periods, explored: Explored, timeZone: string, nowMs: number): Slot[] {
  const { days, before, interval } = periods;
  const times = timesOf(days, interval, timeZone);
  const timesBefore = before === null ? [] : timesOf(before, interval, timeZone);
  const [metricsAt, metricsBefore] = [readerOf(explored.series), readerOf(explored.seriesBefore)];
  const isPart = (index: number): boolean =>
    interval === 'day' && periods.beforeUntilMs !== null && index === times.length - 1;
  return times.map((time, index) => ({
    ...time,
    now: time.startMs > nowMs ? null : metricsAt(time),
    before: timesBefore[index] === undefined ? null : metricsBefore(timesBefore[index]),
    beforeValue: isPart(index) ? null : (timesBefore[index]?.value ?? null),
  }));
}

type Time = { value: string; text: string; atMs: number; startMs: number };

const none = sumOf([]);

function readerOf(rows: readonly ActivityRow[]): (time: Time) => Metrics {
  const byTime = new Map(rows.map(({ time, startMs, metrics }) => [time.length === 10 ? time : startMs, metrics]));
  return ({ value, startMs }) => byTime.get(value.length === 10 ? value : startMs) ?? none;
}

function timesOf({ from, to }: DayRange, interval: Periods['interval'], timeZone: string): Time[] {
  const days: Time[] = [];
  for (let atMs = Date.parse(from); atMs <= Date.parse(to); atMs += dayMs) {
    const value = new Date(atMs).toISOString().slice(0, 10);
    days.push({ value, text: dayText(value), atMs, startMs: startOfDay(value, timeZone) });
  }
  if (interval === 'day') return days;
  const times: Time[] = [];
  const endMs = startOfDay(new Date(Date.parse(to) + dayMs).toISOString().slice(0, 10), timeZone);
  for (let atMs = startOfDay(from, timeZone); atMs < endMs; atMs = periodOf('hour', timeZone, atMs).endMs) {
    const local = new Date(atMs + offsetMs(timeZone, atMs)).toISOString();
    const text = `${dayText(local.slice(0, 10))}, ${local.slice(11, 16)}`;
    times.push({ value: new Date(atMs).toISOString(), text, atMs, startMs: atMs });
  }
  return times;
}

/**
 * Returns the start of a day in a time zone, in epoch milliseconds. It is computed from noon UTC, because noon UTC
 * falls on that day in every time zone.
 */
function startOfDay(day: string, timeZone: string): number {
  const noonMs = Date.parse(`${day}T12:00:00Z`);
  return periodOf('day', timeZone, noonMs - offsetMs(timeZone, noonMs)).startMs;
}
