import { capEvents, capMetrics, capPeriods, capScopes, pacings } from '../../../catalog/rules/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { Fields, FormBuilder, FormValue } from '../../shell/forms.ts';
import { instantToLocal, localToInstant } from '../../shell/local-time.ts';
import {
  isNested,
  jsonText,
  mergeNested,
  type Nested,
  readJson,
  valueAt,
  without,
  withValue,
} from '../../shell/nested.ts';

/** Rows of caps that the form offers; more can be set as JSON. */
const capRows = 3;

const lists = [
  {
    path: 'targeting.countries.include',
    label: 'Countries',
    hint: 'Two-letter codes, such as US, GB. Empty: everywhere.',
  },
  { path: 'targeting.countries.exclude', label: 'Not in countries', hint: 'All but these.' },
  { path: 'targeting.regions.include', label: 'Regions', hint: 'Such as US-CA, DE-BY.' },
  { path: 'targeting.placements.include', label: 'Placements', hint: 'Their names. Empty: all.' },
] as const;

const boxes = [
  { path: 'targeting.platforms.include', label: 'Platforms', choices: ['web', 'ios', 'android'] },
  { path: 'targeting.devices.include', label: 'Devices', choices: ['desktop', 'mobile', 'tablet', 'tv'] },
] as const;

const windows = [
  { value: '60', text: 'an hour' },
  { value: '1440', text: 'a day' },
  { value: '10080', text: 'a week' },
  { value: '43200', text: '30 days' },
  { value: '', text: 'ever' },
];

const choicesOf = (values: readonly string[]) => values.map((value) => ({ value, text: value.replaceAll('_', ' ') }));

/** Rules as form values: what the form offers, and the rest as JSON. */
export function rulesToForm(rules: unknown, timeZone: string): Record<string, FormValue> {
  if (!isNested(rules)) return { rules: String(rules ?? '') };
  const values: Record<string, FormValue> = {};
  let rest: Nested = rules;
  const take = (path: string): unknown => {
    const value = valueAt(rest, path);
    rest = without(rest, path);
    return value;
  };
  for (const { path } of lists) values[path] = textOf(take(path));
  for (const { path } of boxes) values[path] = asTexts(take(path));
  for (const name of ['start_at', 'end_at']) {
    const value = take(`schedule.${name}`);
    values[`schedule.${name}`] = typeof value === 'string' ? instantToLocal(value, timeZone) : '';
  }
  values.pacing = textOf(take('pacing')) || 'asap';
  values.force_priority = take('force_priority') === true;
  values.without_identity = textOf(take('without_identity')) || 'serve';
  takeCaps(rest, 'frequency_caps', ['scope', 'event', 'limit', 'window_minutes'], values, take);
  takeCaps(rest, 'total_caps', ['metric', 'per', 'limit'], values, take);
  values.rules = jsonText(rest);
  return values;
}

/** The first rows of a list of caps; a list that is longer than the form, or is none, stays in the JSON. */
function takeCaps(
  rest: Nested,
  name: string,
  parts: readonly string[],
  values: Record<string, FormValue>,
  take: (path: string) => unknown,
): void {
  const caps = rest[name];
  if (!Array.isArray(caps) || caps.length > capRows) return;
  take(name);
  for (const [index, cap] of caps.entries())
    for (const part of parts) values[`${name}.${index}.${part}`] = textOf(isNested(cap) ? cap[part] : '');
}

const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : value === null || value === undefined ? '' : String(value);
const asTexts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** What was typed, as rules. */
export function readRules(fields: Fields, timeZone: string): unknown {
  const rest = readJson(fields.text('rules'));
  if (typeof rest === 'string') return rest;
  let rules: Nested = {};
  const put = (path: string, value: unknown): void => {
    rules = withValue(rules, path, value);
  };
  for (const { path } of lists) {
    const items = splitList(fields.text(path));
    if (items.length > 0) put(path, items);
  }
  for (const { path } of boxes) if (fields.all(path).length > 0) put(path, fields.all(path));
  for (const name of ['start_at', 'end_at']) {
    const typed = fields.text(`schedule.${name}`);
    if (typed !== '') put(`schedule.${name}`, localToInstant(typed, timeZone));
  }
  if (fields.text('pacing') !== 'asap' && fields.text('pacing') !== '') put('pacing', fields.text('pacing'));
  if (fields.checked('force_priority')) put('force_priority', true);
  if (fields.text('without_identity') === 'withhold') put('without_identity', 'withhold');
  const frequency = readCaps(fields, 'frequency_caps', (at) => ({
    scope: fields.text(`${at}.scope`),
    event: fields.text(`${at}.event`),
    limit: fields.number(`${at}.limit`),
    window_minutes: fields.number(`${at}.window_minutes`),
  }));
  if (frequency.length > 0) put('frequency_caps', frequency);
  const totals = readCaps(fields, 'total_caps', (at) => ({
    metric: fields.text(`${at}.metric`),
    per: fields.text(`${at}.per`),
    limit: fields.number(`${at}.limit`),
  }));
  if (totals.length > 0) put('total_caps', totals);
  return mergeNested(rest, rules);
}

const readCaps = (fields: Fields, name: string, read: (at: string) => object): object[] =>
  Array.from({ length: capRows }, (_, index) => `${name}.${index}`)
    .filter((at) => fields.text(`${at}.limit`) !== '')
    .map(read);

export const splitList = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');

const rows = (render: (at: number) => Html): Html =>
  html`${Array.from({ length: capRows }, (_, index) => render(index))}`;

export const frequencyRows = (form: FormBuilder): Html =>
  rows(
    (index) =>
      html`<div class="columns tight">${form.input(`frequency_caps.${index}.limit`, { label: 'At most', type: 'number', min: 1 })}${form.select(`frequency_caps.${index}.event`, { label: 'Of', choices: choicesOf(capEvents) })}${form.select(`frequency_caps.${index}.window_minutes`, { label: 'Within', choices: windows })}${form.select(`frequency_caps.${index}.scope`, { label: 'Counted over the', choices: choicesOf(['campaign', ...capScopes.filter((scope) => scope !== 'campaign')]) })}</div>`,
  );

export const totalRows = (form: FormBuilder): Html =>
  rows(
    (index) =>
      html`<div class="columns tight">${form.input(`total_caps.${index}.limit`, { label: 'At most', type: 'number', min: 0, step: 'any' })}${form.select(`total_caps.${index}.metric`, { label: 'Of', choices: choicesOf(capMetrics) })}${form.select(`total_caps.${index}.per`, { label: 'Per', choices: choicesOf(capPeriods) })}</div>`,
  );

export function rulesFields(form: FormBuilder, timeZone: string): Html {
  return html`<fieldset class="group"><legend>Who sees it</legend><div class="columns">${lists.map(({ path, label, hint }) => form.input(path, { label, hint }))}</div>
${boxes.map(({ path, label, choices }) => form.checks(path, { label, hint: 'None ticked: all.', choices: choicesOf(choices) }))}
${form.select('without_identity', {
  label: 'Users who are not known',
  choices: [
    { value: 'serve', text: 'see it' },
    { value: 'withhold', text: 'do not see it' },
  ],
  hint: 'Caps cannot count for a user without an id.',
})}</fieldset>
<fieldset class="group"><legend>When</legend><div class="columns">${form.input('schedule.start_at', { label: 'Starts', type: 'datetime-local', hint: `${timeZone} time. Empty: at once.` })}${form.input('schedule.end_at', { label: 'Ends', type: 'datetime-local', hint: 'Empty: never.' })}</div></fieldset>
<fieldset class="group"><legend>How often one user sees it</legend>${frequencyRows(form)}</fieldset>
<fieldset class="group"><legend>How much in all</legend>${totalRows(form)}<div class="columns">${form.select('pacing', { label: 'Spread over the day', choices: choicesOf(pacings) })}</div>${form.check('force_priority', { label: 'Before everything that is not forced' })}</fieldset>
<details class="more"><summary>Further rules, as JSON</summary>${form.area('rules', { label: 'Conditions, hours, cities, browsers, exclusion groups', rows: 8, code: true, hint: html`Such as <code>{"conditions":{"key":"cart_total","op":"gte","value":"50"}}</code>.` })}</details>`;
}
