import { instantOf, offsetMs, timeOf } from '../platform/lib/time-zone.ts';

/**
 * The value of a date-time field, such as `2026-11-27T09:00`, as an instant with offset (RFC 3339). Any other text is
 * returned as it is, for the validation to refuse.
 */
export function localToInstant(text: string, timeZone: string): string {
  const localMs = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(localMs)) return text;
  return withOffset(instantOf(timeZone, localMs), timeZone);
}

/** An instant (RFC 3339) as the value of a date-time field; any other text is returned as it is. */
export function instantToLocal(text: string, timeZone: string): string {
  const atMs = timeOf(text);
  if (atMs === null || Number.isNaN(atMs)) return text;
  return new Date(atMs + offsetMs(timeZone, atMs)).toISOString().slice(0, 16);
}

/** What was typed, as an instant; `stored` as it is, to the second and in its zone, where the field still shows it. */
export const editedInstant = (typed: string, stored: string, timeZone: string): string =>
  typed === instantToLocal(stored, timeZone) ? stored : localToInstant(typed, timeZone);

function withOffset(atMs: number, timeZone: string): string {
  const offset = offsetMs(timeZone, atMs);
  const minutes = Math.abs(offset) / 60_000;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const sign = offset < 0 ? '-' : '+';
  const zone = offset === 0 ? 'Z' : `${sign}${two(minutes / 60)}:${two(minutes % 60)}`;
  return `${new Date(atMs + offset).toISOString().slice(0, 19)}${zone}`;
}
