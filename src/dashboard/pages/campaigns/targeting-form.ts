import type { TargetingKey } from '../../../catalog/rules/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { columns, type FormBuilder, fieldGroup, moreFields } from '../../shell/forms.ts';
import { joinList, splitList } from '../../shell/list-text.ts';
import type { Picker } from './options.ts';
import type { RulesPart } from './rules-part.ts';

type Dimension = { key: TargetingKey; label: string; hint?: string };

const main: readonly Dimension[] = [
  { key: 'countries', label: 'Countries' },
  { key: 'regions', label: 'Regions' },
  { key: 'placements', label: 'Placements' },
  { key: 'devices', label: 'Devices' },
];

const further: readonly Dimension[] = [
  { key: 'cities', label: 'Cities' },
  { key: 'postal_codes', label: 'Postal codes', hint: 'Such as SW1A1AA, 10*.' },
  { key: 'platforms', label: 'Platforms' },
  { key: 'os', label: 'Operating systems' },
  { key: 'browsers', label: 'Browsers' },
];

const sides = ['include', 'exclude'] as const;
const nameOf = (key: TargetingKey, side: (typeof sides)[number]): string => `rules.targeting.${key}.${side}`;

const listPart = (path: string): RulesPart => ({
  path,
  toForm: (value) =>
    value === undefined
      ? { [`rules.${path}`]: '' }
      : Array.isArray(value)
        ? { [`rules.${path}`]: joinList(value) }
        : null,
  read: (fields) => {
    const items = splitList(fields.text(`rules.${path}`));
    return items.length === 0 ? undefined : items;
  },
});

const identityPart: RulesPart = {
  path: 'without_identity',
  toForm: (value) => ({ 'rules.without_identity': String(value ?? 'serve') }),
  read: (fields) => {
    const typed = fields.text('rules.without_identity');
    return typed === 'serve' || typed === '' ? undefined : typed;
  },
};

export const exclusionGroupsPart = listPart('exclusion_groups');

export const targetingParts: readonly RulesPart[] = [
  ...[...main, ...further].flatMap(({ key }) => sides.map((side) => listPart(`targeting.${key}.${side}`))),
  identityPart,
];

const identityChoices = [
  { value: 'serve', text: 'Serve' },
  { value: 'withhold', text: 'Do not serve' },
];

export const targetingFields = (form: FormBuilder, picker: Picker, conditions: Html): Html => {
  const lists = ({ key, label, hint }: Dimension): Html =>
    columns([
      form.input(nameOf(key, 'include'), {
        label,
        placeholder: 'All',
        ...(hint !== undefined && { hint }),
        picker: picker(key, form.values[nameOf(key, 'include')]),
      }),
      form.input(nameOf(key, 'exclude'), {
        label: `Excluded ${label.toLowerCase()}`,
        placeholder: 'None',
        picker: picker(key, form.values[nameOf(key, 'exclude')]),
      }),
    ]);
  const isUsed = ({ key }: Dimension): boolean => sides.some((side) => (form.values[nameOf(key, side)] ?? '') !== '');
  return fieldGroup(
    'Targeting',
    main.map(lists),
    moreFields('Cities, postal codes, platforms, operating systems, browsers', html`${further.map(lists)}`, {
      isOpen: further.some(isUsed),
    }),
    conditions,
    form.select('rules.without_identity', {
      label: 'Users without an id',
      choices: identityChoices,
      hint: 'Frequency caps cannot be applied without a user id.',
    }),
  );
};
