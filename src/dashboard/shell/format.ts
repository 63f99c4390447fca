import type { Publisher } from '../../catalog/snapshot/types.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { isTimeZone } from '../../platform/lib/time-zone.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

/** A format is costly to make and cheap to use. */
function formatFor(timeZone: string, kind: 'minute' | 'second' | 'day'): Intl.DateTimeFormat {
  const key = `${timeZone} ${kind}`;
  let format = formats.get(key);
  if (format === undefined) {
    const time = kind === 'day' ? {} : ({ timeStyle: kind === 'second' ? 'medium' : 'short' } as const);
    format = new Intl.DateTimeFormat('en-GB', {
      dateStyle: 'medium',
      ...time,
      timeZone: isTimeZone(timeZone) ? timeZone : 'UTC',
    });
    if (formats.size > 2000) formats.clear();
    formats.set(key, format);
  }
  return format;
}

/** A moment in the publisher's zone. */
export const moment = (
  { timeZone }: Pick<Publisher, 'timeZone'>,
  at: Date,
  kind: 'minute' | 'second' | 'day' = 'minute',
): Html =>
  html`<time datetime="${at.toISOString()}" title="${at.toISOString()}">${formatFor(timeZone, kind).format(at)}</time>`;

/** For what belongs to no publisher. */
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
