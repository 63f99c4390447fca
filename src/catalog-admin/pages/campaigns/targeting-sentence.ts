import { type Comparison, comparisonsIn } from '../../../catalog/conditions.ts';
import type { CampaignRules, TargetingKey } from '../../../catalog/rules.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { countryName, languageName, perLocale } from '../../../shell/format.ts';
import { daysText, type HourWindow } from './schedule-form.ts';

/** Targeting lists in the order of the sentence. */
const keys: readonly TargetingKey[] = [
  'audiences',
  'countries',
  'regions',
  'cities',
  'postal_codes',
  'devices',
  'platforms',
  'os',
  'browsers',
  'languages',
  'placements',
];

/** Maximum number of values of a list. */
const maxItems = 4;
/** Maximum number of time windows. */
const maxWindows = 2;

const disjunction = perLocale((locale) => new Intl.ListFormat(locale, { type: 'disjunction' }));
const conjunction = perLocale((locale) => new Intl.ListFormat(locale, { type: 'conjunction' }));

/** Joins values. If there are too many, the text ends with the number of further ones. */
function either(values: readonly string[]): string {
  if (values.length <= maxItems) return disjunction('').format(values);
  const count = values.length - maxItems + 1;
  return t('targetingSentence.further', { values: values.slice(0, maxItems - 1).join(', '), count });
}

/**
 * Describes in one sentence to which users a campaign is shown, such as "Shown to users in Germany on mobile, on
 * weekdays 09:00–17:00, not to the audience customers." Leaves out dates, budgets and frequency caps.
 */
export function targetingSentence(rules: CampaignRules): string {
  const { targeting = {}, schedule, conditions, without_identity: withoutId } = rules;
  const sides = keys.map((key) => ({ key, include: [], exclude: [], ...targeting[key] }));
  const included = sides
    .filter(({ include }) => include.length > 0)
    .map(({ key, include }) => t('targetingSentence.include', { key, values: valuesText(key, include) }));
  const excluded = sides
    .filter(({ exclude }) => exclude.length > 0)
    .map(({ key, exclude }) => t('targetingSentence.exclude', { key, values: valuesText(key, exclude) }));
  const further = [
    ...hoursTexts(schedule?.hours ?? []),
    ...(conditions === undefined ? [] : [conditionsText(comparisonsIn(conditions))]),
    ...(withoutId === 'withhold' ? [t('targetingSentence.knownOnly')] : []),
    ...excluded,
  ];
  return t('targetingSentence.whole', {
    who: included.length === 0 ? 'all' : 'some',
    included: included.map((text) => ` ${text}`).join(''),
    further: further.map((text) => `, ${text}`).join(''),
  });
}

const valuesText = (key: TargetingKey, values: readonly string[]): string =>
  either(values.map((value) => valueText(key, value)));

function valueText(key: TargetingKey, value: string): string {
  if (key === 'countries')
    return t('targetingSentence.country', { code: value.toUpperCase(), name: countryName(value.toUpperCase()) });
  if (key === 'devices') return t('targetingSentence.device', { device: value.toLowerCase(), name: value });
  if (key === 'languages') return languageName(value);
  return key === 'os' || key === 'browsers' || key === 'platforms' ? productName(value) : value;
}

/** Returns the usual spelling of an operating system or a browser. */
const productName = (value: string): string =>
  ({ ios: 'iOS', macos: 'macOS' })[value.toLowerCase()] ?? value.charAt(0).toUpperCase() + value.slice(1);

function hoursTexts(windows: readonly HourWindow[]): string[] {
  if (windows.length === 0) return [];
  if (windows.length > maxWindows) return [t('targetingSentence.manyHours', { count: windows.length })];
  return [conjunction('').format(windows.map(hoursText))];
}

function hoursText({ days, from, to }: HourWindow): string {
  const sorted = [...new Set(days)].sort().join('');
  return t('targetingSentence.hours', {
    days: { 12345: 'weekdays', 67: 'weekend', 1234567: 'all' }[sorted] ?? 'other',
    names: daysText(days),
    time: from === '00:00' && to === '24:00' ? 'all' : 'some',
    from,
    to,
  });
}

/** Describes a comparison of an attribute, such as `plan is gold`. */
export const comparisonText = (comparison: Comparison): string =>
  [
    comparison.key,
    t(`campaigns.op_${comparison.op}`),
    ...('value' in comparison ? [[comparison.value].flat().join(', ')] : []),
  ].join(' ');

function conditionsText(comparisons: readonly Comparison[]): string {
  const [first] = comparisons;
  if (first !== undefined && comparisons.length === 1)
    return t('targetingSentence.condition', { text: comparisonText(first) });
  const names = [...new Set(comparisons.map(({ key }) => key))];
  return t('targetingSentence.conditions', { keys: either(names) });
}
