import { AppError } from '../../../platform/errors.ts';
import { type DayRange, readDayRange } from '../../../platform/http/day-range.ts';
import { dayMs, hourMs } from '../../../platform/lib/time.ts';
import { instantOf, offsetMs } from '../../../platform/lib/time-zone.ts';
import { problem } from '../../../platform/problem.ts';
import { dayForm, perLocale } from '../../../shell/format.ts';
import { dateIn, maxDays, maxDaysByHour } from '../../query/request.ts';
import type { RangeName } from './ranges.ts';
import type { ExplorerState } from './state.ts';

export type Periods = {
  days: DayRange;
  /** Number of days in the range. */
  length: number;
  interval: 'day' | 'hour';
  before: DayRange | null;
  /**
   * Cut-off of the comparison period (`before`) if the range ends today: the end of the current hour on its last day,
   * in epoch milliseconds. Otherwise null.
   */
  beforeUntilMs: number | null;
  /** Whether the range ends today, so that its last day is incomplete. */
  isRunning: boolean;
};

const plusDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10);

const lengthOf = ({ from, to }: DayRange): number => (Date.parse(to) - Date.parse(from)) / dayMs + 1;

/**
 * Returns the days that a state selects, and the days to compare them with.
 * @throws AppError invalid_request
 */
export function periodsOf(state: ExplorerState, timeZone: string, nowMs: number): Periods {
  const today = dateIn(timeZone, nowMs);
  const range = state.range === null ? { from: state.from, to: state.to } : daysOf(state.range, today);
  const { from, to: end } = readDayRange(range, plusDays(today, -1), maxDays);
  if (from > today) throw tooLate();
  const days = { from, to: end > today ? today : end };
  const length = lengthOf(days);
  const interval = state.interval ?? (length <= 2 ? 'hour' : 'day');
  if (interval === 'hour') readDayRange(days, today, maxDaysByHour);
  const isRunning = days.to === today;
  if (state.compare === 'none') return { days, length, interval, before: null, beforeUntilMs: null, isRunning };
  const shift = state.compare === 'week' ? Math.ceil(length / 7) * 7 : length;
  const before = { from: plusDays(days.from, -shift), to: plusDays(days.to, -shift) };
  const beforeUntilMs = isRunning ? endOfHour(timeZone, nowMs, shift) : null;
  return { days, length, interval, before, beforeUntilMs, isRunning };
}

const tooLate = (): AppError =>
  new AppError('invalid_request', { details: [{ path: '/from', message: problem('inFuture') }] });

/** Returns the end of the current local hour on the day that was `daysAgo` days ago, in epoch milliseconds. */
function endOfHour(timeZone: string, nowMs: number, daysAgo: number): number {
  const localMs = nowMs + offsetMs(timeZone, nowMs) - daysAgo * dayMs;
  return instantOf(timeZone, Math.floor(localMs / hourMs) * hourMs + hourMs);
}

type CalendarUnit = 'week' | 'month' | 'quarter' | 'year';

/** Returns the first day of the calendar week, month, quarter or year that contains a day. */
function firstDayOf(unit: CalendarUnit, day: string): string {
  if (unit === 'year') return `${day.slice(0, 4)}-01-01`;
  if (unit === 'month') return `${day.slice(0, 7)}-01`;
  if (unit === 'week') return plusDays(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7));
  const month = Number(day.slice(5, 7));
  return `${day.slice(0, 4)}-${String(month - ((month - 1) % 3)).padStart(2, '0')}-01`;
}

function daysOf(range: RangeName, today: string): DayRange {
  if (range === 'today') return { from: today, to: today };
  if (range === 'yesterday') return { from: plusDays(today, -1), to: plusDays(today, -1) };
  if (range === 'week' || range === 'month' || range === 'quarter' || range === 'year')
    return { from: firstDayOf(range, today), to: today };
  if (range === 'last-week' || range === 'last-month' || range === 'last-quarter') {
    const unit = range.slice('last-'.length) as CalendarUnit;
    const last = plusDays(firstDayOf(unit, today), -1);
    return { from: firstDayOf(unit, last), to: last };
  }
  return { from: plusDays(today, 1 - Number.parseInt(range, 10)), to: today };
}

const dayKinds = {
  range: dayForm,
  weekday: { weekday: 'short', day: 'numeric', month: 'short' },
} as const;
const dayFormat = perLocale(
  (locale, kind) => new Intl.DateTimeFormat(locale, { ...dayKinds[kind as keyof typeof dayKinds], timeZone: 'UTC' }),
);

/** Formats a day range, such as `9–15 Nov 2026`. */
export const rangeText = ({ from, to }: DayRange): string =>
  dayFormat('range').formatRange(Date.parse(from), Date.parse(to));

/** Formats a day, such as `Mon 9 Nov`. */
export const dayText = (date: string): string => dayFormat('weekday').format(Date.parse(date));
