import type { TargetingKey } from '../../../catalog/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { columns, type FormBuilder, fieldGroup, joinList, moreFields, splitList } from '../../../shell/forms.ts';
import type { Picker } from './options.ts';
import type { RulesPart } from './rules-part.ts';

type Dimension = { key: TargetingKey; hint?: MessageKey };

const main: readonly Dimension[] = [
  { key: 'countries' },
  { key: 'regions' },
  { key: 'placements' },
  { key: 'devices' },
  { key: 'audiences', hint: 'campaigns.audiencesHint' },
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

/** Audience of existing customers. A checkbox excludes it, for campaigns that target new customers. */
const customers = 'customers';
const notCustomers = 'rules.not_customers';
const excludedAudiences = 'targeting.audiences.exclude';

const excludedAudiencesPart: RulesPart = {
  path: excludedAudiences,
  toForm: (value) => {
    if (value !== undefined && !Array.isArray(value)) return null;
    const keys = value ?? [];
    const others = keys.filter((key) => key !== customers);
    return { [`rules.${excludedAudiences}`]: joinList(others), [notCustomers]: others.length < keys.length };
  },
  read: (fields) => {
    const others = splitList(fields.text(`rules.${excludedAudiences}`)).filter((key) => key !== customers);
    const keys = fields.checked(notCustomers) ? [customers, ...others] : others;
    return keys.length === 0 ? undefined : keys;
  },
};

const identityPart: RulesPart = {
  path: 'without_identity',
  toForm: (value) => ({ 'rules.without_identity': String(value ?? 'serve') }),
  read: (fields) => {
    const typed = fields.text('rules.without_identity');
    return typed === 'serve' || typed === '' ? undefined : typed;
  },
};

export const exclusionGroupsPart = listPart('exclusion_groups');

const partOf = (path: string): RulesPart => (path === excludedAudiences ? excludedAudiencesPart : listPart(path));

export const targetingParts: readonly RulesPart[] = [
  ...[...main, ...further].flatMap(({ key }) => sides.map((side) => partOf(`targeting.${key}.${side}`))),
  identityPart,
];

const identityChoices = () => [
  { value: 'serve', text: t('campaigns.serve') },
  { value: 'withhold', text: t('campaigns.doNotServe') },
];

export const targetingFields = (form: FormBuilder, picker: Picker, conditions: Html): Html => {
  const lists = ({ key, hint }: Dimension): Html =>
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
        picker: picker(key, form.values[nameOf(key, 'exclude')]),
      }),
    ]);
  const isUsed = ({ key }: Dimension): boolean => sides.some((side) => (form.values[nameOf(key, side)] ?? '') !== '');
  return fieldGroup(
    t('campaigns.targeting'),
    main.map(lists),
    form.checkbox(notCustomers, { label: t('campaigns.notCustomers'), hint: t('campaigns.notCustomersHint') }),
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
