import { capEvents, capMetrics, capPeriods, capScopes } from '../../../catalog/rules/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { Fields } from '../../shell/fields.ts';
import { type Choice, columns, type FormBuilder } from '../../shell/forms.ts';
import { isNested } from '../../shell/nested.ts';

/** Caps of each kind the form has fields for; more can be set as JSON. */
const maxCaps = 3;

const windows = [
  { value: '60', text: 'hour' },
  { value: '1440', text: 'day' },
  { value: '10080', text: 'week' },
  { value: '43200', text: '30 days' },
  { value: '', text: 'lifetime' },
];

const parts = {
  frequency_caps: ['scope', 'event', 'limit', 'window_minutes'],
  total_caps: ['metric', 'per', 'limit'],
} as const;

export const choicesOf = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, text: value.replaceAll('_', ' ') }));

/** A list of caps as form values; null: it is longer than the form, or not a list. */
export function capsToForm(name: keyof typeof parts, caps: unknown): Record<string, string> | null {
  if (!Array.isArray(caps) || caps.length > maxCaps) return null;
  const values: Record<string, string> = {};
  for (const [index, cap] of caps.entries())
    for (const part of parts[name])
      values[`${name}.${index}.${part}`] = String((isNested(cap) ? cap[part] : undefined) ?? '');
  return values;
}

const readCaps = (fields: Fields, name: keyof typeof parts, read: (prefix: string) => object): object[] =>
  Array.from({ length: maxCaps }, (_, index) => `${name}.${index}`)
    .filter((prefix) => fields.text(`${prefix}.limit`) !== '')
    .map(read);

export const readFrequencyCaps = (fields: Fields): object[] =>
  readCaps(fields, 'frequency_caps', (prefix) => ({
    scope: fields.text(`${prefix}.scope`),
    event: fields.text(`${prefix}.event`),
    limit: fields.number(`${prefix}.limit`),
    window_minutes: fields.number(`${prefix}.window_minutes`),
  }));

export const readTotalCaps = (fields: Fields): object[] =>
  readCaps(fields, 'total_caps', (prefix) => ({
    metric: fields.text(`${prefix}.metric`),
    per: fields.text(`${prefix}.per`),
    limit: fields.number(`${prefix}.limit`),
  }));

const capRows = (row: (index: number) => Html): Html =>
  html`${Array.from({ length: maxCaps }, (_, index) => row(index))}`;

/** The campaign first: the first scope is the default of a new cap. */
const scopes = ['campaign', ...capScopes.filter((scope) => scope !== 'campaign')];

export const frequencyCapFields = (form: FormBuilder): Html =>
  capRows((index) => {
    const name = (part: string) => `frequency_caps.${index}.${part}`;
    return columns(
      [
        form.input(name('limit'), { label: 'Limit', type: 'number', min: 1 }),
        form.select(name('event'), { label: 'Event', choices: choicesOf(capEvents) }),
        form.select(name('window_minutes'), { label: 'Per', choices: windows }),
        form.select(name('scope'), { label: 'Scope', choices: choicesOf(scopes) }),
      ],
      'tight',
    );
  });

export const totalCapFields = (form: FormBuilder): Html =>
  capRows((index) => {
    const name = (part: string) => `total_caps.${index}.${part}`;
    return columns(
      [
        form.input(name('limit'), { label: 'Limit', type: 'number', min: 0, step: 'any' }),
        form.select(name('metric'), { label: 'Metric', choices: choicesOf(capMetrics) }),
        form.select(name('per'), { label: 'Per', choices: choicesOf(capPeriods) }),
      ],
      'tight',
    );
  });
