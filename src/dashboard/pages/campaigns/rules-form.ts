import { type Pacing, pacings } from '../../../catalog/rules/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { Fields } from '../../shell/fields.ts';
import { columns, type FormBuilder, type FormValue, fieldGroup, moreFields } from '../../shell/forms.ts';
import { instantToLocal, localToInstant } from '../../shell/local-time.ts';
import {
  isNested,
  jsonText,
  mergeNested,
  type Nested,
  readJson,
  valueAt,
  withoutValue,
  withValue,
} from '../../shell/nested.ts';
import {
  capsToForm,
  choicesOf,
  frequencyCapFields,
  readFrequencyCaps,
  readTotalCaps,
  totalCapFields,
} from './caps-form.ts';

const lists = [
  { path: 'targeting.countries.include', label: 'Countries', hint: 'ISO codes, such as US, GB. Empty: all.' },
  { path: 'targeting.countries.exclude', label: 'Excluded countries', hint: 'ISO codes.' },
  { path: 'targeting.regions.include', label: 'Regions', hint: 'Such as US-CA, DE-BY. Empty: all.' },
  { path: 'targeting.placements.include', label: 'Placements', hint: 'Placement names. Empty: all.' },
] as const;

const boxes = [
  { path: 'targeting.platforms.include', label: 'Platforms', choices: ['web', 'ios', 'android'] },
  { path: 'targeting.devices.include', label: 'Devices', choices: ['desktop', 'mobile', 'tablet', 'tv'] },
] as const;

const scheduleNames = ['start_at', 'end_at'] as const;

const pacingTexts: Record<Pacing, string> = {
  asap: 'As fast as possible',
  even: 'Even',
  front_loaded: 'Front-loaded',
};

const identityChoices = [
  { value: 'serve', text: 'Serve' },
  { value: 'withhold', text: 'Do not serve' },
];

/** Rules as form values: those the form has fields for, and the rest as JSON. */
export function rulesToForm(rules: unknown, timeZone: string): Record<string, FormValue> {
  if (!isNested(rules)) return { rules: String(rules ?? '') };
  const values: Record<string, FormValue> = {};
  let rest: Nested = rules;
  const take = (path: string): unknown => {
    const value = valueAt(rest, path);
    rest = withoutValue(rest, path);
    return value;
  };
  for (const { path } of lists) values[path] = textOf(take(path));
  for (const { path } of boxes) values[path] = textsOf(take(path));
  for (const name of scheduleNames) {
    const value = take(`schedule.${name}`);
    values[`schedule.${name}`] = typeof value === 'string' ? instantToLocal(value, timeZone) : '';
  }
  values.pacing = textOf(take('pacing')) || 'asap';
  values.force_priority = take('force_priority') === true;
  values.without_identity = textOf(take('without_identity')) || 'serve';
  for (const name of ['frequency_caps', 'total_caps'] as const) {
    const caps = capsToForm(name, rest[name]);
    if (caps === null) continue;
    take(name);
    Object.assign(values, caps);
  }
  values.rules = jsonText(rest);
  return values;
}

const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : value === null || value === undefined ? '' : String(value);
const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** Form values as rules; defaults are left out. A text that is not JSON is returned, for the validation to refuse. */
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
  for (const name of scheduleNames) {
    const typed = fields.text(`schedule.${name}`);
    if (typed !== '') put(`schedule.${name}`, localToInstant(typed, timeZone));
  }
  if (fields.text('pacing') !== 'asap' && fields.text('pacing') !== '') put('pacing', fields.text('pacing'));
  if (fields.checked('force_priority')) put('force_priority', true);
  if (fields.text('without_identity') === 'withhold') put('without_identity', 'withhold');
  const [frequencyCaps, totalCaps] = [readFrequencyCaps(fields), readTotalCaps(fields)];
  if (frequencyCaps.length > 0) put('frequency_caps', frequencyCaps);
  if (totalCaps.length > 0) put('total_caps', totalCaps);
  return mergeNested(rest, rules);
}

/** The items of a list separated by commas or lines. */
export const splitList = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');

export function rulesFields(form: FormBuilder, timeZone: string): Html {
  return html`
    ${targetingFields(form)}
    ${fieldGroup(
      'Schedule',
      columns([
        form.input('schedule.start_at', {
          label: 'Start',
          type: 'datetime-local',
          hint: `${timeZone} time. Empty: immediately.`,
        }),
        form.input('schedule.end_at', { label: 'End', type: 'datetime-local', hint: 'Empty: no end.' }),
      ]),
    )}
    ${fieldGroup('Frequency caps per user', frequencyCapFields(form))}
    ${fieldGroup(
      'Budget and total caps',
      totalCapFields(form),
      columns([
        form.select('pacing', {
          label: 'Pacing',
          choices: pacings.map((value) => ({ value, text: pacingTexts[value] })),
        }),
      ]),
      form.checkbox('force_priority', {
        label: 'Always first (force priority)',
        hint: 'Ranks before all campaigns without force priority.',
      }),
    )}
    ${moreFields(
      'Advanced rules (JSON)',
      form.textarea('rules', {
        label: 'Conditions, dayparts, cities, browsers, exclusion groups',
        rows: 8,
        code: true,
        hint: html`Example: <code>{"conditions":{"key":"cart_total","op":"gte","value":"50"}}</code>`,
      }),
    )}`;
}

const targetingFields = (form: FormBuilder): Html =>
  fieldGroup(
    'Targeting',
    columns(lists.map(({ path, label, hint }) => form.input(path, { label, hint }))),
    boxes.map(({ path, label, choices }) =>
      form.checkboxes(path, { label, hint: 'None selected: all.', choices: choicesOf(choices) }),
    ),
    form.select('without_identity', {
      label: 'Users without an id',
      choices: identityChoices,
      hint: 'Frequency caps cannot be applied without a user id.',
    }),
  );
