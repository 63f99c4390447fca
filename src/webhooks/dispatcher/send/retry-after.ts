import { dayMs } from '../../../platform/lib/time.ts';

/** The longest wait a receiver may ask for, milliseconds (24 h). */
export const maxRetryAfterMs = dayMs;

const secondsPattern = /^\d+$/;
/** RFC 9110 5.6.7: IMF-fixdate and the obsolete RFC 850 form; both say GMT. */
const gmtPattern = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
/** RFC 9110 5.6.7: the obsolete asctime form, which names no zone and means GMT. */
const asctimePattern = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

function dateMs(text: string): number {
  if (gmtPattern.test(text)) return Date.parse(text);
  return asctimePattern.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/**
 * The wait a `retry-after` header asks for.
 * @param value the header: whole seconds or an HTTP date
 * @param nowMs epoch milliseconds, for dates
 * @returns 0 to 24 h in milliseconds (a date in the past is 0); null when absent or unreadable
 * @see RFC 9110, 10.2.3
 */
export function parseRetryAfter(value: string | null | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  const waitMs = secondsPattern.test(text) ? Number(text) * 1000 : dateMs(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), maxRetryAfterMs);
}
