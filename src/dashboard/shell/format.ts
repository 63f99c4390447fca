import type { Publisher } from '../../catalog/snapshot/types.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { isTimeZone } from '../../platform/lib/time-zone.ts';

const maxFormats = 2000;
const formats = new Map<string, Intl.DateTimeFormat>();

type Precision = 'minute' | 'second' | 'day';

/** Creating a format is expensive, so formats are cached. */
function formatFor(timeZone: string, precision: Precision): Intl.DateTimeFormat {
  const key = `${timeZone} ${precision}`;
  let format = formats.get(key);
  if (format === undefined) {
    const time = precision === 'day' ? {} : ({ timeStyle: precision === 'second' ? 'medium' : 'short' } as const);
    format = new Intl.DateTimeFormat('en-GB', {
      dateStyle: 'medium',
      ...time,
      timeZone: isTimeZone(timeZone) ? timeZone : 'UTC',
    });
    if (formats.size > maxFormats) formats.clear();
    formats.set(key, format);
  }
  return format;
}

/** A time in the publisher's time zone. */
export function moment(
  { timeZone }: Pick<Publisher, 'timeZone'>,
  at: Date | string,
  precision: Precision = 'minute',
): Html {
  const date = new Date(at);
  const iso = date.toISOString();
  return html`<time datetime="${iso}" title="${iso}">${formatFor(timeZone, precision).format(date)}</time>`;
}

/** A time that may be absent, such as the end of what is still running. */
export const momentOr = (zone: Pick<Publisher, 'timeZone'>, at: Date | string | null, absent = '–'): Html | string =>
  at === null ? absent : moment(zone, at, 'second');

/** For pages without a publisher. */
export const utc = { timeZone: 'UTC' };

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });
const share = new Intl.NumberFormat('en-GB', { style: 'percent', maximumFractionDigits: 2 });

export const count = (value: number): string =>
  Math.abs(value) >= 100_000 ? compact.format(value) : whole.format(value);
/** `value` 0–1. */
export const percent = (value: number): string => share.format(value);

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${whole.format(value)} ${value === 1 ? one : many}`;
