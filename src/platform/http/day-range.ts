import { AppError } from '../errors.ts';
import { dayMs } from '../lib/time.ts';
import { type Problem, problem } from '../problem.ts';

/** Range of days, such as `2026-11-21`. The first and last days are both included. */
export type DayRange = { from: string; to: string };
export type DayRangeParameters = { from?: string | undefined; to?: string | undefined };

/**
 * Parses a day range, which defaults to yesterday.
 * @throws AppError invalid_request
 */
export function readDayRange(parameters: DayRangeParameters, yesterday: string, maxDays: number): DayRange {
  for (const name of ['from', 'to'] as const) {
    if (parameters[name] !== undefined && !isDay(parameters[name])) throw invalid(name, problem('aDay'));
  }
  const to =
    parameters.to ?? (parameters.from !== undefined && parameters.from > yesterday ? parameters.from : yesterday);
  const from = parameters.from ?? to;
  if (to < from) throw invalid('to', problem('beforeFrom'));
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days > maxDays) throw invalid('from', problem('daysAtMost', { max: maxDays }));
  return { from, to };
}

/** Whether a string is a valid calendar day in the year 2000 or later. */
export function isDay(value: string): boolean {
  if (!/^2\d{3}-\d{2}-\d{2}$/.test(value)) return false;
  const ms = Date.parse(value);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value);
}

const invalid = (parameter: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path: `/${parameter}`, message }] });
