import type { TargetingKey } from '../../../catalog/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { columns, type FormBuilder, joinList, moreFields, splitList } from '../../../shell/forms.ts';
import type { Picker } from './options.ts';
import { fieldPart, type RulesPart } from './rules-part.ts';

type Dimension = { key: TargetingKey; hint?: MessageKey; excludeHint?: MessageKey };

const main: readonly Dimension[] = [
  { key: 'countries' },
  { key: 'regions' },
  { key: 'placements' },
  { key: 'devices' },
];

const further: readonly Dimension[] = [
  { key: 'cities' },
  { key: 'postal_codes', hint: 'campaigns.postalCodesHint' },
  { key: 'platforms' },
  { key: 'os' },
  { key: 'browsers' },
  { key: 'languages', hint: 'campaigns.languagesHint' },
];

const audiences: Dimension = {
  key: 'audiences',
  hint: 'campaigns.audiencesHint',
  excludeHint: 'campaigns.excludeAudiencesHint',
};

/** Targeting lists about places and devices, in the order of the form. */
export const targetedKeys: readonly TargetingKey[] = [...main, ...further].map(({ key }) => key);

const sides = ['include', 'exclude'] as const;
const nameOf = (key: TargetingKey, side: (typeof sides)[number]): string => `rules.targeting.${key}.${side}`;

const listPart = (path: string): RulesPart =>
  fieldPart(
    path,
    (value = []) => (Array.isArray(value) ? joinList(value) : null),
    (text) => {
      const items = splitList(text);
      return items.length === 0 ? undefined : items;
    },
  );

const identityPart = fieldPart(
  'without_identity',
  (value) => String(value ?? 'serve'),
  (text) => (text === 'serve' || text === '' ? undefined : text),
);

export const exclusionGroupsPart = listPart('exclusion_groups');

const partsOf = (dimensions: readonly Dimension[]): RulesPart[] =>
  dimensions.flatMap(({ key }) => sides.map((side) => listPart(`targeting.${key}.${side}`)));

export const targetingParts: readonly RulesPart[] = partsOf([...main, ...further]);

export const userParts: readonly RulesPart[] = [...partsOf([audiences]), identityPart];

const identityChoices = () => [
  { value: 'serve', text: t('campaigns.serve') },
  { value: 'withhold', text: t('campaigns.doNotServe') },
];

/** Renders the fields for the included and the excluded values of a dimension. */
const lists = (form: FormBuilder, picker: Picker, { key, hint, excludeHint }: Dimension): Html =>
  columns([
    form.input(nameOf(key, 'include'), {
      label: t(`campaigns.target_${key}`),
      placeholder: t('common.all'),
      ...(hint !== undefined && { hint: t(hint) }),
      picker: picker(key, form.values[nameOf(key, 'include')]),
    }),
    form.input(nameOf(key, 'exclude'), {
      label: t(`campaigns.exclude_${key}`),
      placeholder: t('campaigns.noneExcluded'),
      ...(excludeHint !== undefined && { hint: t(excludeHint) }),
      picker: picker(key, form.values[nameOf(key, 'exclude')]),
    }),
  ]);

/** Renders the fields for places, placements and devices. */
export const targetingFields = (form: FormBuilder, picker: Picker): Html => {
  const isUsed = ({ key }: Dimension): boolean => sides.some((side) => (form.values[nameOf(key, side)] ?? '') !== '');
  return html`
    ${main.map((dimension) => lists(form, picker, dimension))}
    ${moreFields(t('campaigns.moreTargeting'), html`${further.map((dimension) => lists(form, picker, dimension))}`, {
      isOpen: further.some(isUsed),
    })}`;
};

export const audienceFields = (form: FormBuilder, picker: Picker): Html => lists(form, picker, audiences);

export const identityField = (form: FormBuilder): Html =>
  form.select('rules.without_identity', {
    label: t('campaigns.withoutId'),
    choices: identityChoices(),
    hint: t('campaigns.withoutIdHint'),
  });
