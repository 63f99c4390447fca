import { isOwnKind, type OwnKind, splitKind } from '../../../catalog/event-kinds.ts';
import { capEvents, capMetrics, capPeriods, capScopes, type FrequencyCap } from '../../../catalog/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import type { Fields, FormValue } from '../../../shell/context.ts';
import { type Choice, type FormBuilder, isNested, type Nested } from '../../../shell/forms.ts';
import { rowList } from '../../../shell/row-list.ts';
import type { RulesPart } from './rules-part.ts';

/** Units in which a rolling window can be entered, longest first, with their length in minutes. */
const units = [
  { value: 'day', text: 'campaigns.days', minutes: 1440 },
  { value: 'hour', text: 'campaigns.hours', minutes: 60 },
  { value: 'minute', text: 'campaigns.minutes', minutes: 1 },
] as const;

const unitChoices = (): Choice[] => [
  ...units.map(({ value, text }) => ({ value, text: t(text) })),
  { value: 'lifetime', text: t('campaigns.forEver') },
];

type CapKind = {
  /** Cap properties that are shown as form fields. */
  fields: readonly string[];
  toForm: (cap: Nested) => Record<string, string>;
  read: (fields: Fields, prefix: string) => Record<string, unknown>;
};

const frequency: CapKind = {
  fields: ['scope', 'event', 'limit', 'window_minutes'],
  toForm: ({ window_minutes: minutes }) => {
    if (minutes === null) return { window_minutes: '', window_unit: 'lifetime' };
    const unit = units.find((candidate) => Number(minutes) % candidate.minutes === 0) ?? units[2];
    return { window_minutes: String(Number(minutes) / unit.minutes), window_unit: unit.value };
  },
  read: (fields, prefix) => ({
    scope: fields.text(`${prefix}.scope`),
    event: fields.text(`${prefix}.event`),
    limit: fields.number(`${prefix}.limit`) ?? '',
    window_minutes: readWindow(fields, prefix),
  }),
};

/**
 * Reads the rolling window of a cap, in minutes, or null for a lifetime cap. Invalid numbers are left for validation to
 * reject.
 */
function readWindow(fields: Fields, prefix: string): number | string | null {
  const unit = fields.text(`${prefix}.window_unit`);
  if (unit === 'lifetime') return null;
  const typed = fields.number(`${prefix}.window_minutes`) ?? '';
  const { minutes } = units.find(({ value }) => value === unit) ?? units[0];
  return typeof typed === 'number' ? typed * minutes : typed;
}

const total: CapKind = {
  fields: ['metric', 'per', 'limit'],
  toForm: () => ({}),
  read: (fields, prefix) => ({
    metric: fields.text(`${prefix}.metric`),
    per: fields.text(`${prefix}.per`),
    limit: fields.number(`${prefix}.limit`) ?? '',
  }),
};

/**
 * Creates the form fields for a list of caps.
 * @param prefix prefix of the field names; either empty or ending with a dot
 */
const capsPart = (prefix: string, path: string, kind: CapKind): RulesPart => ({
  path,
  toForm: (value) => {
    if (value === undefined || value === null) return {};
    if (!Array.isArray(value) || !value.every(isNested)) return null;
    if (value.some((cap) => kind.fields.some((name) => typeof (cap[name] ?? '') === 'object'))) return null;
    const values: Record<string, FormValue> = {};
    for (const [index, cap] of value.entries()) {
      const plain = Object.fromEntries(kind.fields.map((name) => [name, String(cap[name] ?? '')]));
      for (const [name, text] of Object.entries({ ...plain, ...kind.toForm(cap) }))
        values[`${prefix}${path}.${index}.${name}`] = text;
    }
    return values;
  },
  read: (fields) => {
    const count = fields.rowCount(prefix + path);
    if (count === 0) return undefined;
    return Array.from({ length: count }, (_, index) => kind.read(fields, `${prefix}${path}.${index}`));
  },
});

export const frequencyPart = (prefix: string): RulesPart => capsPart(prefix, 'frequency_caps', frequency);

export const totalsPart = (prefix: string): RulesPart => capsPart(prefix, 'total_caps', total);

/** Describes a frequency cap, such as `Impressions: 3 in 1 day`. */
export function frequencyText({ event, limit, window_minutes: minutes }: FrequencyCap): string {
  const unit = units.find((candidate) => (minutes ?? 1) % candidate.minutes === 0) ?? units[2];
  const { kind, name } = splitKind(event);
  return t('campaigns.frequencyText', {
    event: kind === 'own' ? t('campaigns.event_own', { name }) : t(`campaigns.event_${kind}` as MessageKey),
    limit,
    unit: minutes === null ? 'lifetime' : unit.value,
    length: (minutes ?? 0) / unit.minutes,
  });
}

const choicesOf = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, text: t(`campaigns.cap_${value}` as MessageKey) }));

const eventChoices = (): Choice[] => capEvents.map((value) => ({ value, text: t(`campaigns.event_${value}`) }));

/**
 * Returns the own events that can be selected for a cap. The cap's current event is included even if it is no longer
 * defined.
 */
const ownChoices = (ownKinds: readonly OwnKind[], current: FormValue | undefined): Choice[] =>
  [...new Set([...ownKinds, ...(isOwnKind(String(current)) ? [String(current)] : [])])].map((value) => ({
    value,
    text: t('campaigns.event_own', splitKind(value)),
  }));

/** Cap scopes. `campaign` comes first because the first scope is the default for a new cap. */
const scopes = ['campaign', ...capScopes.filter((scope) => scope !== 'campaign')];

/** Renders the fields for frequency caps: the maximum number of events per user in a rolling window. */
export const frequencyCapFields = (form: FormBuilder, prefix: string, ownKinds: readonly OwnKind[]): Html =>
  rowList(form, {
    name: `${prefix}frequency_caps`,
    noun: t('campaigns.frequencyCap'),
    add: t('campaigns.addFrequencyCap'),
    first: 'limit',
    row: (at, of) => html`
      ${form.input(`${at}.limit`, { label: t('campaigns.atMost'), of, type: 'number', min: 1 })}
      ${form.select(`${at}.event`, {
        label: t('campaigns.event'),
        of,
        choices: [...eventChoices(), ...ownChoices(ownKinds, form.values[`${at}.event`])],
      })}
      ${form.input(`${at}.window_minutes`, { label: t('campaigns.within'), of, type: 'number', min: 1 })}
      ${form.select(`${at}.window_unit`, { label: t('campaigns.unit'), of, choices: unitChoices() })}
      ${form.select(`${at}.scope`, { label: t('campaigns.countedBy'), of, choices: choicesOf(scopes) })}`,
  });

/** Renders the fields for total caps: the maximum number of events over all users. */
export const totalCapFields = (form: FormBuilder, prefix: string, ownKinds: readonly OwnKind[]): Html =>
  rowList(form, {
    name: `${prefix}total_caps`,
    noun: t('campaigns.totalCap'),
    add: t('campaigns.addTotalCap'),
    first: 'limit',
    row: (at, of) => html`
      ${form.input(`${at}.limit`, { label: t('campaigns.atMost'), of, type: 'number', min: 0, step: 'any' })}
      ${form.select(`${at}.metric`, {
        label: t('campaigns.of'),
        of,
        choices: [...choicesOf(capMetrics), ...ownChoices(ownKinds, form.values[`${at}.metric`])],
      })}
      ${form.select(`${at}.per`, { label: t('campaigns.per'), of, choices: choicesOf(capPeriods) })}`,
  });
