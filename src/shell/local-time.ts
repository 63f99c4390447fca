import { instantOf, offsetMs, timeOf } from '../platform/lib/time-zone.ts';

/**
 * Converts the value of a date-time field, such as `2026-11-27T09:00`, to an instant with offset (RFC 3339). Other text
 * is returned unchanged for validation to reject.
 */
export function localToInstant(text: string, timeZone: string): string {
  const localMs = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(localMs)) return text;
  return withOffset(instantOf(timeZone, localMs), timeZone);
}

/** Converts an instant (RFC 3339) to the value of a date-time field. Other text is returned unchanged. */
export function instantToLocal(text: string, timeZone: string): string {
  const atMs = timeOf(text);
  if (atMs === null || Number.isNaN(atMs)) return text;
  return new Date(atMs + offsetMs(timeZone, atMs)).toISOString().slice(0, 16);
}

/**
 * Converts an edited field to an instant. If the field still shows the stored instant, `stored` is returned unchanged,
 * with its seconds and zone.
 */
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
