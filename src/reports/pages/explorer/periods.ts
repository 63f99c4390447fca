import { AppError } from '../../../platform/errors.ts';
import { type DayRange, readDayRange } from '../../../platform/http/day-range.ts';
import { dayMs, hourMs } from '../../../platform/lib/time.ts';
import { offsetMs } from '../../../platform/lib/time-zone.ts';
import { perLocale } from '../../../shell/format.ts';
import { dateIn, maxDays, maxDaysByHour } from '../../query/request.ts';
import type { RangeName } from './ranges.ts';
import type { ExplorerState } from './state.ts';

export type Periods = {
  days: DayRange;
  /** Number of days. */
  length: number;
  interval: 'day' | 'hour';
  before: DayRange | null;
  /** Where the range ends today: the end of the hour on the last day of `before` (epoch ms). */
  beforeUntilMs: number | null;
  /** The last day is not over. */
  isRunning: boolean;
};

const plusDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10);

const lengthOf = ({ from, to }: DayRange): number => (Date.parse(to) - Date.parse(from)) / dayMs + 1;

/** The days a state asks for, and those it compares with. @throws AppError invalid_request */
export function periodsOf(state: ExplorerState, timeZone: string, nowMs: number): Periods {
  const today = dateIn(timeZone, nowMs);
  const asked = state.range === null ? { from: state.from, to: state.to } : daysOf(state.range, today);
  const { from, to: end } = readDayRange(asked, plusDays(today, -1), maxDays);
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
  new AppError('invalid_request', { details: [{ path: '/from', message: 'lies in the future' }] });

/** The end of the current local hour, some days ago. */
function endOfHour(timeZone: string, nowMs: number, daysAgo: number): number {
  const localMs = nowMs + offsetMs(timeZone, nowMs) - daysAgo * dayMs;
  const endMs = Math.floor(localMs / hourMs) * hourMs + hourMs;
  return endMs - offsetMs(timeZone, endMs - offsetMs(timeZone, nowMs));
}

function daysOf(range: RangeName, today: string): DayRange {
  const firstOfMonth = `${today.slice(0, 7)}-01`;
  if (range === 'today') return { from: today, to: today };
  if (range === 'yesterday') return { from: plusDays(today, -1), to: plusDays(today, -1) };
  if (range === 'month') return { from: firstOfMonth, to: today };
  if (range === 'last-month') {
    const last = plusDays(firstOfMonth, -1);
    return { from: `${last.slice(0, 7)}-01`, to: last };
  }
  return { from: plusDays(today, 1 - Number.parseInt(range, 10)), to: today };
}

const dayKinds = {
  day: { day: 'numeric', month: 'short' },
  dayWithYear: { dateStyle: 'medium' },
  weekday: { weekday: 'short', day: 'numeric', month: 'short' },
} as const;
const dayFormat = perLocale(
  (locale, kind) => new Intl.DateTimeFormat(locale, { ...dayKinds[kind as keyof typeof dayKinds], timeZone: 'UTC' }),
);

/** `9–15 Nov 2026` in words. */
export function rangeText({ from, to }: DayRange): string {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  if (from === to) return dayFormat('dayWithYear').format(first);
  const isSameYear = from.slice(0, 4) === to.slice(0, 4);
  return `${dayFormat(isSameYear ? 'day' : 'dayWithYear').format(first)} – ${dayFormat('dayWithYear').format(last)}`;
}

/** `Mon 9 Nov`. */
export const dayText = (date: string): string => dayFormat('weekday').format(Date.parse(date));
