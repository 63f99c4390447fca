import type { TargetingKey } from '../../../catalog/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { columns, type FormBuilder, fieldGroup, joinList, moreFields, splitList } from '../../../shell/forms.ts';
import type { Picker } from './options.ts';
import { fieldPart, type RulesPart } from './rules-part.ts';

type Dimension = { key: TargetingKey; hint?: MessageKey; excludeHint?: MessageKey };

const main: readonly Dimension[] = [
  { key: 'countries' },
  { key: 'regions' },
  { key: 'placements' },
  { key: 'devices' },
  { key: 'audiences', hint: 'campaigns.audiencesHint', excludeHint: 'campaigns.excludeAudiencesHint' },
];

const further: readonly Dimension[] = [
  { key: 'cities' },
  { key: 'postal_codes', hint: 'campaigns.postalCodesHint' },
  { key: 'platforms' },
  { key: 'os' },
  { key: 'browsers' },
  { key: 'languages', hint: 'campaigns.languagesHint' },
];

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

export const targetingParts: readonly RulesPart[] = [
  ...[...main, ...further].flatMap(({ key }) => sides.map((side) => listPart(`targeting.${key}.${side}`))),
  identityPart,
];

const identityChoices = () => [
  { value: 'serve', text: t('campaigns.serve') },
  { value: 'withhold', text: t('campaigns.doNotServe') },
];

export const targetingFields = (form: FormBuilder, picker: Picker, conditions: Html): Html => {
  const lists = ({ key, hint, excludeHint }: Dimension): Html =>
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
  const isUsed = ({ key }: Dimension): boolean => sides.some((side) => (form.values[nameOf(key, side)] ?? '') !== '');
  return fieldGroup(
    t('campaigns.targeting'),
    main.map(lists),
    moreFields(t('campaigns.moreTargeting'), html`${further.map(lists)}`, {
      isOpen: further.some(isUsed),
    }),
    conditions,
    form.select('rules.without_identity', {
      label: t('campaigns.withoutId'),
      choices: identityChoices(),
      hint: t('campaigns.withoutIdHint'),
    }),
  );
};
