import type { Condition } from '../../catalog/conditions.ts';
import { exchangeProperty, type Influence } from '../../decision/influences.ts';
import type { Reason, ReasonValue } from '../../decision/reason.ts';
import { type MessageKey, t } from '../../platform/i18n/messages.ts';
import { inLanguage } from '../../platform/i18n/reader.ts';
import { fromMicros } from '../../platform/money.ts';

/** Formatters for the values in a reason text. */
export type ReasonFormat = {
  count: (value: number) => string;
  /** Formats a fraction from 0 to 1. */
  share: (value: number) => string;
  moment: (atMs: number) => string;
  /** Formats a weekday. 0 is Monday. */
  weekday: (day: number) => string;
  timeOfDay: (minute: number) => string;
  /** Formats an amount of money. If `currency` is null, the currency is omitted. */
  amount: (micros: number, currency: string | null) => string;
};

/** Maximum number of list values in a reason. The reason states how many more there are. */
const maxListed = 10;

/** Describes a reason in the reader's language, for campaign managers. */
export const reasonText = ({ key, values }: Reason, format: ReasonFormat): string =>
  t(
    `reasons.${key}`,
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valueText(value, format)])),
  );

function valueText(value: ReasonValue, format: ReasonFormat): string | number {
  if (typeof value !== 'object') return value;
  switch (value.as) {
    case 'moment':
      return format.moment(value.atMs);
    case 'weekday':
      return format.weekday(value.day);
    case 'timeOfDay':
      return format.timeOfDay(value.minute);
    case 'amount':
      return format.amount(value.micros, value.currency);
    case 'list':
      return listText(value.values);
    case 'condition':
      return comparisonText(value.condition);
    default:
      return format[value.as](value.value);
  }
}

/** Formats the first values of a list, followed by the number of remaining values. */
function listText(values: readonly (string | number | boolean)[]): string {
  const listed = values.slice(0, maxListed).join(', ');
  return values.length > maxListed
    ? t('reasons.andMore', { values: listed, more: String(values.length - maxListed) })
    : listed;
}

/** Describes a condition on custom attributes in the reader's language. */
export function comparisonText(condition: Condition): string {
  if ('all' in condition) return joined(condition.all, 'and');
  if ('any' in condition) return joined(condition.any, 'or');
  const { key, op } = condition;
  const value = 'value' in condition ? [condition.value].flat() : [];
  return t(`reasons.op_${op}`, { key, value: listText(value) });
}

function joined(parts: readonly Condition[], word: 'and' | 'or'): string {
  const [first = '', ...others] = parts.map((part) =>
    'key' in part ? comparisonText(part) : `(${comparisonText(part)})`,
  );
  return others.reduce((text, right) => t(`reasons.${word}`, { left: text, right }), first);
}

const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** Formatters for the API. Their output does not depend on a locale. */
const apiFormat: ReasonFormat = {
  count: String,
  share: (value) => `${Number((value * 100).toPrecision(2))}%`,
  moment: (atMs) => `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
  weekday: (day) => days[day] ?? '',
  timeOfDay: (minute) => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`,
  amount: (micros, currency) => `${fromMicros(micros).toFixed(2)}${currency === null ? '' : ` ${currency}`}`,
};

/** Labels for the properties that every request has. Custom attributes are shown by their names. */
const propertyNames: Readonly<Record<string, MessageKey>> = {
  country: 'dimensions.lower_country',
  device: 'dimensions.lower_device',
  hour: 'reasons.property_hour',
  loyalty: 'reasons.property_loyalty',
  os: 'dimensions.lower_os',
  weekday: 'reasons.property_weekday',
};

function propertyName(name: string): string {
  const messageKey = Object.hasOwn(propertyNames, name) ? propertyNames[name] : undefined;
  return messageKey === undefined ? name : t(messageKey);
}

/** Describes in the reader's language how a property influences the rate. */
export function influenceText({ property, value, factor }: Influence, format: ReasonFormat): string {
  if (property === exchangeProperty) {
    const [currency = '', other = ''] = value.split('/');
    const names = { currency, other };
    return factor === 0
      ? t('reasons.noExchangeRate', names)
      : t('reasons.exchangeRate', { ...names, factor: String(factor) });
  }
  return t('reasons.influence', {
    property: propertyName(property),
    value: property === 'weekday' ? format.weekday(Number(value)) : value,
    change: format.share(Math.abs(factor - 1)),
    direction: factor >= 1 ? 'more' : 'less',
  });
}

/** Describes in English how a property influences the rate, for the API. */
export const apiInfluence = (influence: Influence): string =>
  inLanguage('en', () => influenceText(influence, apiFormat));

/** Describes a reason in English, for the API. */
export const apiReason = (reason: Reason): string => inLanguage('en', () => reasonText(reason, apiFormat));
