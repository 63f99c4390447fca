/** Durations of a minute, an hour and a day, in milliseconds. */
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

let lastDay = { start: 0, text: '' };

/** Returns the UTC day of a time, such as `2026-11-21`. The day determines the partition of a row. */
export function dayOf(timeMs: number): string {
  const start = timeMs - (timeMs % dayMs);
  if (start !== lastDay.start || lastDay.text === '')
    lastDay = { start, text: new Date(start).toISOString().slice(0, 10) };
  return lastDay.text;
}
