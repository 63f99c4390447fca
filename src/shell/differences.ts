import { isDeepStrictEqual } from 'node:util';
import { type Html, html } from '../platform/http/html.ts';
import { isMessage, type MessageKey, t } from '../platform/i18n/messages.ts';
import { moment } from './format.ts';

/** Maximum length of a displayed value, in characters. */
const maxValueLength = 500;

export type ValueDifference = [name: string, old: unknown, current: unknown];

/** Compares nested values and identifies each difference by its path. Lists of plain values are compared as a whole. */
export function valueDifferences(name: string, old: unknown, current: unknown): ValueDifference[] {
  if (isDeepStrictEqual(old, current)) return [];
  if (!isNested(old) && !isNested(current)) return [[name, old, current]];
  if (!isNested(old ?? {}) || !isNested(current ?? {})) return [[name, old, current]];
  const [before, after] = [Object(old ?? {}), Object(current ?? {})] as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  return Object.keys({ ...before, ...after }).flatMap((key) =>
    valueDifferences(`${name} › ${key.replaceAll('_', ' ')}`, ownValue(before, key), ownValue(after, key)),
  );
}

const isNested = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (!Array.isArray(value) || value.some((item) => typeof item === 'object'));

const ownValue = (value: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : null;

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Formats a value as text, with times in the publisher's time zone. */
export function displayValue(zone: { timeZone: string }, value: unknown): Html | string {
  if (value === null || value === '') return t('activity.noValue');
  if (typeof value === 'boolean') return value ? t('activity.yes') : t('activity.no');
  if (typeof value === 'string' && instant.test(value) && !Number.isNaN(Date.parse(value)))
    return moment(zone, value, 'second');
  if (typeof value !== 'object') return truncate(String(value));
  if (isNested(value) && Object.keys(value).length > 0) return html`<code>${truncate(JSON.stringify(value))}</code>`;
  return truncate(Object.values(value).join(', ')) || t('activity.noValue');
}

const truncate = (text: string): string =>
  text.length > maxValueLength ? `${text.slice(0, maxValueLength).toWellFormed()}…` : text;

/** Returns the text of an enumerated value in the reader's language, or null for any other value. */
type ValueName = (value: string) => string | null;

const oneOf =
  (texts: Readonly<Record<string, MessageKey>>): ValueName =>
  (value) =>
    Object.hasOwn(texts, value) ? t(texts[value] as MessageKey) : null;

/** Returns the messages whose keys contain the value, such as `roles.admin`. */
const messageFor =
  (keyOf: (name: string) => string): ValueName =>
  (value) => {
    const key = keyOf(value.replaceAll(/\W/g, '_')) as MessageKey;
    return isMessage(key) ? t(key) : null;
  };

const cap = messageFor((name) => `campaigns.cap_${name}`);
/** States of secrets and proofs of identity, which are logged instead of their values. */
const secretState = messageFor((name) => `activityValues.${name}`);

/** Names of enumerated values by field. If several resources have the field, the key starts with the resource. */
const valueNames: Readonly<Record<string, ValueName>> = {
  by: (value) => (isRuleKind(value) ? t('activity.ruleKind', { kind: value }) : secretState(value)),
  color_scheme: oneOf({ light: 'offers.light', dark: 'offers.dark', system: 'themes.asDevice' }),
  comparison: messageFor((name) => `metricAlerts.comparison_${name}`),
  conversion_secret: secretState,
  creative_type: oneOf({
    offer_image: 'offers.offerImage',
    hero_image: 'offers.heroImage',
    icon_image: 'offers.iconImage',
  }),
  data_file_user_ids: oneOf({ hashed: 'settings.dataFileHashed', plain: 'settings.dataFilePlain' }),
  delivery: (value) => (['smtp', 'webhook'].includes(value) ? t('messages.deliveryChoice', { by: value }) : null),
  disabled_reason: messageFor((name) => `disableReason.${name}`),
  'drafts.resource': oneOf({
    offers: 'activity.offer',
    creatives: 'activity.creative',
    campaigns: 'activity.campaign',
  }),
  'drafts.state': messageFor((name) => `drafts.${name}`),
  effect: oneOf({ allow: 'settings.allowOnly', deny: 'settings.excludeThese' }),
  event: messageFor((name) => `campaigns.event_${name}`),
  'audiences.event': messageFor((name) => `audiences.event_${name}`),
  'experiments.state': oneOf({
    draft: 'experiments.draftState',
    scheduled: 'experiments.scheduledState',
    running: 'experiments.runningState',
    stopped: 'experiments.stoppedState',
    ended: 'experiments.endedState',
  }),
  give_at: (value) => (['wrap', 'save', 'click'].includes(value) ? t('coupons.giveAtChoice', { at: value }) : null),
  headers: secretState,
  invitation: secretState,
  'coupon-pools.kind': oneOf({ codes: 'activityValues.codes', shared: 'couponPools.shared' }),
  locked_for: secretState,
  metric: (value) => cap(value) ?? messageFor((name) => `metrics.${name}`)(value),
  named_by: oneOf({
    pub_user_id: 'privacyDesk.pubUserId',
    ad_fp: 'privacyDesk.adFp',
    email: 'privacyDesk.email',
    email_sha256: 'privacyDesk.emailHash',
  }),
  op: messageFor((name) => `campaigns.op_${name}`),
  pacing: (value) => messageFor((name) => `campaigns.pacing_${name}`)(value === 'as_fast' ? 'asap' : value),
  password: secretState,
  password_link: secretState,
  payout_kind: messageFor((name) => `campaigns.payout_${name}`),
  per: cap,
  'portal-links.permissions': messageFor((name) => `portal.permission_${name}`),
  postback_events: (value) =>
    ['impression', 'click', 'conversion'].includes(value) ? t('settings.postbackOf', { event: value }) : null,
  ranking: oneOf({ learned: 'campaigns.rankingLearned', fixed: 'campaigns.rankingFixed' }),
  role: messageFor((name) => `roles.${name}`),
  scope: cap,
  secret: secretState,
  session: secretState,
  sessions: secretState,
  single_sign_on: secretState,
  spacing: messageFor((name) => `themes.value_${name}`),
  two_factor: secretState,
  unit: oneOf({ mou: 'themes.multiOfferChoice', sou: 'themes.singleOfferChoice' }),
  without_identity: oneOf({ serve: 'campaigns.serve', withhold: 'campaigns.doNotServe' }),
};

const ruleKinds = [
  ...['category', 'brand', 'advertiser', 'domain', 'offer', 'word', 'competitor', 'separation', 'floor'],
  ...['allowed_categories', 'allowed_brands', 'allowed_advertisers', 'allowed_domains'],
];
const isRuleKind = (value: string): boolean => ruleKinds.includes(value);

/**
 * Returns the text of an enumerated value in the reader's language, as in the rest of the dashboard, or null for any
 * other value.
 * @param path names of nested fields, separated by ` › `
 */
export function nameOfValue(resource: string, path: string, value: string): string | null {
  const parts = path.split(' › ').map((part) => part.replaceAll(' ', '_'));
  const field = parts[0] === 'headers' ? 'headers' : parts.findLast((part) => !/^\d+$/.test(part));
  const key = [`${resource}.${field}`, String(field)].find((name) => Object.hasOwn(valueNames, name));
  return key === undefined ? null : (valueNames[key]?.(value) ?? null);
}

/** Returns a stored value with the texts of its enumerated values. Other values are returned unchanged. */
export function withValueNames(resource: string, path: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withValueNames(resource, path, item));
  return typeof value === 'string' ? (nameOfValue(resource, path, value) ?? value) : value;
}
