import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { fieldName } from '../../../shell/format.ts';

/** Labels of fields that only the audit log shows, or whose usual label is not clear outside their form. */
const labels: Readonly<Record<string, MessageKey>> = {
  activated_at: 'campaigns.active',
  added: 'activity.addressesAdded',
  allowed_addresses: 'settings.allowedAddresses',
  appearance: 'activity.appearance',
  approval_required: 'settings.approvalRequired',
  auto_created: 'settings.autoCreated',
  by: 'campaigns.goalBy',
  campaigns: 'nav.campaigns',
  codes_added: 'activity.codesAdded',
  codes_removed: 'activity.codesRemoved',
  conditions: 'campaigns.conditions',
  comparison: 'metricAlerts.comparison',
  count: 'campaigns.goalCount',
  data_file_user_ids: 'settings.dataFileUserIds',
  dates_approved: 'settings.datesApproved',
  deadline_ms: 'activity.timeoutMs',
  deleted_at: 'crud.removedList',
  delivery: 'messages.delivery',
  disabled_reason: 'activity.disabledReason',
  double_opt_in: 'messages.doubleOptIn',
  effect: 'settings.effect',
  enabled: 'common.enabled',
  event: 'advertiser.event',
  events: 'webhooks.events',
  exclusion_groups: 'campaigns.exclusionGroups',
  expires_at: 'settings.expires',
  filter: 'webhooks.filter',
  frame_hosts: 'activity.frameHosts',
  frame_origin: 'portal.frameOrigin',
  from_name: 'messages.fromName',
  give_at: 'coupons.giveAt',
  has_fallback: 'coupons.fallback',
  goal_since: 'activity.goalSince',
  hint: 'activity.keyHint',
  hold_minutes: 'coupons.holdMinutes',
  is_default: 'settings.defaultTheme',
  is_primary: 'offers.primary',
  key_max_days: 'settings.keyMaxDays',
  kind: 'drafts.kind',
  landing_pages_checked: 'settings.landingPagesChecked',
  limit: 'advertiser.limit',
  limited_by_keys: 'activity.limitedByKeys',
  low_hours: 'coupons.lowHours',
  low_share: 'coupons.lowShare',
  match: 'nav.offers',
  max_in_flight: 'webhooks.concurrency',
  method: 'webhooks.method',
  metric: 'campaigns.of',
  named_by: 'privacyDesk.namedBy',
  own_events: 'activity.ownEvents',
  pacing: 'campaigns.pacing',
  passkey: 'account.passkeys',
  paused_at: 'activity.pausedAt',
  paused_since: 'activity.pausedAt',
  per: 'campaigns.per',
  placements: 'nav.placements',
  postback_events: 'settings.postbacks',
  previous_secret_until: 'activity.previousSecretUntil',
  rate_limit_per_s: 'webhooks.rate',
  read_only: 'settings.readOnlyKey',
  reason: 'drafts.reason',
  reminder_hours: 'messages.reminderHours',
  removed: 'activity.addressesRemoved',
  reply_to: 'messages.replyTo',
  reporting_currency: 'settings.reportingCurrency',
  resource: 'activity.resource',
  resume_rate_per_s: 'activity.resumeRate',
  retry_steps_s: 'webhooks.retrySchedule',
  revoked_at: 'activity.revokedAt',
  row_id: 'activity.itemId',
  rule: 'settings.rule',
  schedule: 'campaigns.schedule',
  sdk_id: 'operator.sdkId',
  secret: 'activity.secret',
  settings: 'nav.settings',
  shared_code: 'coupons.shared',
  signature_v1a: 'webhooks.signV1a',
  single_sign_on: 'account.singleSignOn',
  stopped_at: 'stop.stopped',
  stopped_by: 'activity.stoppedBy',
  strict_order: 'webhooks.strictOrder',
  styles: 'activity.styles',
  terms: 'coupons.terms',
  threshold: 'metricAlerts.threshold',
  total_caps: 'campaigns.budgets',
  transformation: 'webhooks.transformation',
  trusted: 'settings.trustedAdvertiser',
  two_factor: 'account.twoFactor',
  unit: 'settings.unit',
  user: 'portal.user',
  usp_check_all: 'themes.uspCheckAll',
  valid_days: 'coupons.validDays',
  window_hours: 'metricAlerts.window',
};

/** Targeting lists, each with the labels `campaigns.target_{list}` and `campaigns.exclude_{list}`. */
const targetingLists: ReadonlySet<string> = new Set([
  ...['audiences', 'browsers', 'cities', 'countries', 'devices', 'languages'],
  ...['os', 'placements', 'platforms', 'postal_codes', 'regions'],
]);

/**
 * Returns the label of a changed field in the reader's language. Targeting lists have the labels of their form fields.
 * @param path names of nested fields, separated by ` › `
 */
export function loggedFieldName(path: string): string {
  const names = path.split(' › ');
  const [top, part, list = '', side] = names;
  if (top === 'rules' && part === 'targeting' && targetingLists.has(keyOf(list)))
    return t(`campaigns.${side === 'exclude' ? 'exclude' : 'target'}_${keyOf(list)}` as MessageKey);
  const visibleNames = top === 'rules' && names.length > 1 ? names.slice(1) : names;
  return visibleNames
    .map(keyOf)
    .map((key) => (Object.hasOwn(labels, key) ? t(labels[key] as MessageKey) : fieldName(positionOf(key))))
    .join(' › ');
}

/** Returns the position of a list item, counted from 1. Other names are returned unchanged. */
const positionOf = (key: string): string => (/^\d{1,4}$/.test(key) ? String(Number(key) + 1) : key);

const keyOf = (name: string): string => name.replaceAll(' ', '_');
