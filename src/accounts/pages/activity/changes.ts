import { isDeepStrictEqual } from 'node:util';
import type { View } from '../../../management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { fieldName, moment } from '../../../shell/format.ts';
import { moreFields } from '../../../shell/forms.ts';

/** Number of changed values above which an entry is collapsed. */
const maxExpanded = 4;
/** Maximum length of a displayed value, in characters. */
const maxValueLength = 500;

export type Zone = { timeZone: string };

/**
 * Renders the old and new values of the fields that an entry changed. Created and removed rows have only one of the
 * two.
 */
export function changeList(zone: Zone, { action, changes }: View): Html {
  const values = Object.entries(changes as Record<string, { old: unknown; new: unknown }>)
    .filter(([name]) => name !== 'id')
    .flatMap(([name, change]) => differences(fieldName(name), change.old, change.new));
  const items = values.map(
    ([name, old, current]) => html`
      <div>
        <dt translate="no">${name}</dt>
        <dd>${valueText(String(action), display(zone, old), display(zone, current))}</dd>
      </div>`,
  );
  const list = html`<dl class="changes">${items}</dl>`;
  return values.length <= maxExpanded ? list : moreFields(t('activity.values', { count: values.length }), list);
}

function valueText(action: string, old: Html | string, current: Html | string): Html | string {
  if (action === 'create') return current;
  if (action === 'remove') return old;
  return html`
    <del>${old}</del> <span aria-hidden="true">→</span><span class="sr"> ${t('activity.changedTo')} </span>
    <ins>${current}</ins>`;
}

type Difference = [name: string, old: unknown, current: unknown];

/** Compares nested values and identifies each difference by its path. Lists of plain values are compared as a whole. */
function differences(name: string, old: unknown, current: unknown): Difference[] {
  if (isDeepStrictEqual(old, current)) return [];
  if (!isNested(old) && !isNested(current)) return [[name, old, current]];
  if (!isNested(old ?? {}) || !isNested(current ?? {})) return [[name, old, current]];
  const [before, after] = [Object(old ?? {}), Object(current ?? {})] as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  return Object.keys({ ...before, ...after }).flatMap((key) =>
    differences(`${name} › ${key.replaceAll('_', ' ')}`, ownValue(before, key), ownValue(after, key)),
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
function display(zone: Zone, value: unknown): Html | string {
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
