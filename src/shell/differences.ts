import { isDeepStrictEqual } from 'node:util';
import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { moment } from './format.ts';

/** Maximum length of a displayed value, in characters. */
const maxValueLength = 500;

export type ValueDifference = [name: string, old: unknown, current: unknown];

/** Compares nested values and identifies each difference by its path. Lists of plain values are compared as a whole. */
export function valueDifferences(name: string, old: unknown, current: unknown): ValueDifference[] {
  if (isDeepStrictEqual(old, current)) return [];
  if (!isNested(old) && !isNested(current)) return [[name, old, current]];
  if (!isNested(old ?? {}) || !isNested(current ?? {})) return [[name, old, current]];
  const [before, after] = [Object(old ?? {}), Object(current ?? {})] as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  return Object.keys({ ...before, ...after }).flatMap((key) =>
    valueDifferences(`${name} › ${key.replaceAll('_', ' ')}`, ownValue(before, key), ownValue(after, key)),
  );
}

const isNested = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (!Array.isArray(value) || value.some((item) => typeof item === 'object'));

const ownValue = (value: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : null;

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Formats a value as text, with times in the publisher's time zone. */
export function displayValue(zone: { timeZone: string }, value: unknown): Html | string {
  if (value === null || value === '') return t('activity.noValue');
  if (typeof value === 'boolean') return value ? t('activity.yes') : t('activity.no');
  if (typeof value === 'string' && instant.test(value) && !Number.isNaN(Date.parse(value)))
    return moment(zone, value, 'second');
  if (typeof value !== 'object') return truncate(String(value));
  if (isNested(value) && Object.keys(value).length > 0) return html`<code>${truncate(JSON.stringify(value))}</code>`;
  return truncate(Object.values(value).join(', ')) || t('activity.noValue');
}

const truncate = (text: string): string =>
  text.length > maxValueLength ? `${text.slice(0, maxValueLength).toWellFormed()}…` : text;
