import { splitKind } from '../catalog/event-kinds.ts';
import type { HoldBack } from '../offers/goals.ts';
import { outcomeText } from '../offers/outcome-text.ts';
import { plainText } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { reader } from '../platform/i18n/reader.ts';
import { percent } from '../shell/format.ts';
import { answerText, type FailedAttempt, type Fix, fixOf } from '../webhooks/last-failure.ts';
import { type Alert, type AlertKind, metricKind } from './kinds.ts';
import type { MetricCondition } from './metrics/measure.ts';
import { measuredText } from './metrics/sentence.ts';

/**
 * Title and reason of an alert, as text. `path` is the path of the related page, relative to the publisher's dashboard
 * pages. `fix` is advice with a link.
 */
export type AlertText = { title: string; reason: string; path: string; fix?: Fix };

const disabledBecause: Readonly<Record<string, MessageKey>> = {
  gone: 'alerts.disabledGone',
  asked: 'alerts.disabledAsked',
  failing: 'alerts.disabledFailing',
};

const text = (value: unknown): string => (typeof value === 'string' ? value : String(value ?? ''));

/** Formats a time in the publisher's time zone. */
function timeIn(timeZone: string, at: unknown): string {
  const format = new Intl.DateTimeFormat(reader().locale, { dateStyle: 'medium', timeStyle: 'short', timeZone });
  return `${format.format(new Date(text(at)))} (${timeZone})`;
}

/** Formats an amount, with its currency if the currency is known. */
function amount(value: unknown, currency: unknown): string {
  const options =
    typeof currency === 'string' ? { style: 'currency' as const, currency } : { maximumFractionDigits: 2 };
  return new Intl.NumberFormat(reader().locale, options).format(Number(value));
}

type Described = {
  kind: AlertKind;
  data: Alert['data'];
  /** Attempt that an alert about an endpoint refers to, if it is still stored. */
  failure?: FailedAttempt | null;
};

/** Returns the title, reason and page path of an alert, in the reader's language. */
export function describe({ kind, data, failure = null }: Described, timeZone: string): AlertText {
  if (kind.startsWith('endpoint.')) return describeEndpoint({ kind, data, failure }, timeZone);
  if (kind.startsWith('placement.')) return describePlacement(kind, data, timeZone);
  if (kind === metricKind) return describeMetric(data, timeZone);
  if (kind.startsWith('coupons.')) return describeCoupons(kind, data);
  if (kind === 'messages.refused') return describeMessages(data, timeZone);
  if (kind === 'ranking.stalled') return describeRanking(data, timeZone);
  if (kind === 'data_files.failing') return describeDataFiles(data, timeZone);
  if (kind === 'key.expires') return describeKey(data, timeZone);
  if (kind.endsWith('_page_lost')) return describeLostPage(kind, data, timeZone);
  const path = `/campaigns/${Number(data.campaign_id)}`;
  const name = text(data.name);
  if (kind === 'campaign.ended')
    return {
      title: t('alerts.campaignEnded', { name }),
      reason: t('alerts.campaignEndedReason', { time: timeIn(timeZone, data.ended_at) }),
      path,
    };
  if (kind === 'draft.waiting')
    return {
      title: t('alerts.draftWaiting', { name }),
      reason: t('alerts.draftWaitingReason', { subject: text(data.subject), by: text(data.proposed_by) }),
      path: `/drafts/${Number(data.draft_id)}`,
    };
  if (kind === 'goal.behind') return { ...describeGoal(data, timeZone), path };
  const used = { limit: amount(data.limit, data.currency), per: text(data.per) };
  if (kind === 'budget.80')
    return { title: t('alerts.budget80', { name }), reason: t('alerts.budget80Reason', used), path };
  if (typeof data.metric === 'string' && data.metric !== 'budget') {
    const { kind: metric, name: event } = splitKind(data.metric);
    const reason = t('alerts.cap100Reason', { ...used, limit: amount(data.limit, null), metric, event });
    return { title: t('alerts.cap100', { name }), reason, path };
  }
  const { remaining, next_cost: nextCost } = data;
  if (typeof remaining === 'number' && remaining > 0 && Number(nextCost) > remaining) {
    const budgetLeft = { remaining: amount(remaining, data.currency), cost: amount(nextCost, data.currency) };
    const reason = t('alerts.budgetExhaustedReason', { ...used, ...budgetLeft, event: text(data.next_event) });
    return { title: t('alerts.budgetExhausted', { name }), reason, path };
  }
  return { title: t('alerts.budget100', { name }), reason: t('alerts.budget100Reason', used), path };
}

function describeGoal(data: Alert['data'], timeZone: string): { title: string; reason: string } {
  const count = (value: unknown): string => amount(value, null);
  const heldBack = (data.held_back_by as readonly HoldBack[])
    .map(({ rule, share }) => `${outcomeText(rule)} (${percent(share)})`)
    .join(', ');
  return {
    title: t('alerts.goalBehind', { name: text(data.name), percent: percent(Number(data.percent) / 100) }),
    reason: t('alerts.goalBehindReason', {
      metric: text(data.metric),
      delivered: count(data.delivered),
      expected: count(data.expected),
      goal: count(data.goal),
      time: timeIn(timeZone, data.by),
      isHeldBack: String(heldBack !== ''),
      heldBack,
    }),
  };
}

function describeLostPage(kind: string, data: Alert['data'], timeZone: string): AlertText {
  const isOffer = kind === 'offer.action_page_lost';
  const name = plainText(text(data.name));
  const pageValues = { url: text(data.url), reason: text(data.reason), status: text(data.status ?? 'none') };
  const hosts = { to: text(data.leads_to), from: text(data.led_to), since: timeIn(timeZone, data.since) };
  return {
    title: t(isOffer ? 'alerts.actionPageLost' : 'alerts.landingPageLost', { name }),
    reason: t('alerts.landingPageLostReason', { kind: isOffer ? 'offer' : 'campaign', ...pageValues, ...hosts }),
    path: isOffer ? `/offers/${Number(data.offer_id)}` : `/campaigns/${Number(data.campaign_id)}`,
  };
}

const joined = (sentences: readonly string[]): string => sentences.filter((text) => text !== '').join(' ');

function describeEndpoint({ kind, data, failure = null }: Described, timeZone: string): AlertText {
  const name = text(data.description) || text(data.url);
  const path = `/settings/webhooks/${Number(data.endpoint_id)}`;
  const answer = failure === null ? '' : answerText(failure);
  const fix = failure !== null && { fix: fixOf({ id: Number(data.endpoint_id), url: text(data.url) }, failure) };
  if (kind === 'endpoint.recovered')
    return { title: t('alerts.endpointRecovered', { name }), reason: t('alerts.endpointRecoveredReason'), path };
  if (kind === 'endpoint.disabled') {
    const because = disabledBecause[text(data.reason)];
    const reasons = [because === undefined ? '' : t(because), answer, t('alerts.endpointDisabledReason')];
    return { title: t('alerts.endpointDisabled', { name }), reason: joined(reasons), path, ...fix };
  }
  const since = timeIn(timeZone, data.failing_since);
  if (kind === 'endpoint.transformation_failing')
    return {
      title: t('alerts.transformationFailing', { name }),
      reason: joined([t('alerts.transformationFailingReason', { since }), failure?.error?.message ?? '']),
      path,
      ...fix,
    };
  return {
    title: t('alerts.endpointFailing', { name }),
    reason: joined([t('alerts.endpointFailingReason', { failures: Number(data.failures), since }), answer]),
    path,
    ...fix,
  };
}

function describeCoupons(kind: string, data: Alert['data']): AlertText {
  const [name, path] = [plainText(text(data.name)), `/offers/${Number(data.offer_id)}#coupons`];
  if (kind === 'coupons.empty')
    return data.expired === true
      ? { title: t('alerts.couponsExpired', { name }), reason: t('alerts.couponsExpiredReason'), path }
      : { title: t('alerts.couponsEmpty', { name }), reason: t('alerts.couponsEmptyReason'), path };
  const isTimed = data.hours_left !== null;
  const hours = isTimed ? Number(data.hours_left) : 0;
  const stockLeft = { left: Number(data.left), isTimed: String(isTimed), hours };
  return { title: t('alerts.couponsLow', { name }), reason: t('alerts.couponsLowReason', stockLeft), path };
}

function describeMessages(data: Alert['data'], timeZone: string): AlertText {
  return {
    title: t('alerts.messagesRefused'),
    reason: t('alerts.messagesRefusedReason', {
      count: Number(data.count),
      since: timeIn(timeZone, data.since),
      refusal: text(data.refusal),
      reply: text(data.reply) || '–',
    }),
    path: '/settings/perk-messages',
  };
}

function describeRanking(data: Alert['data'], timeZone: string): AlertText {
  const since = data.since === null ? '' : timeIn(timeZone, data.since);
  return {
    title: t('alerts.rankingStalled'),
    reason: t('alerts.rankingStalledReason', { isKnown: String(since !== ''), since }),
    path: '/reports',
  };
}

function describeDataFiles(data: Alert['data'], timeZone: string): AlertText {
  const isFailing = data.error !== null;
  return {
    title: t(isFailing ? 'alerts.dataFilesFailing' : 'alerts.dataFilesBehind'),
    reason: t('alerts.dataFilesReason', {
      since: timeIn(timeZone, data.since),
      isFailing: String(isFailing),
      error: text(data.error),
    }),
    path: '/data-files',
  };
}

function describeKey(data: Alert['data'], timeZone: string): AlertText {
  const used = data.last_used_at === null ? '' : timeIn(timeZone, data.last_used_at);
  return {
    title: t('alerts.keyExpires', { name: text(data.name), days: Number(data.days) }),
    reason: t('alerts.keyExpiresReason', {
      time: timeIn(timeZone, data.expires_at),
      isUsed: String(used !== ''),
      used,
    }),
    path: '/settings/keys',
    ...(typeof data.key_id === 'number' && {
      fix: { text: t('alerts.keyLogText'), link: t('alerts.keyLogLink'), path: `/api-log?key=${data.key_id}&days=30` },
    }),
  };
}

function describePlacement(kind: string, data: Alert['data'], timeZone: string): AlertText {
  const placement = text(data.placement);
  const [now, before] = [Number(data.now), Number(data.before)];
  const isRevenue = kind === 'placement.revenue';
  const metric = isRevenue ? 'revenue' : 'fill_rate';
  const format = (value: number): string => (isRevenue ? amount(value, data.currency) : percent(value));
  const query = new URLSearchParams({ range: 'today', compare: 'week', by: 'campaign', placement, metric });
  return {
    title: t(isRevenue ? 'alerts.revenueDown' : 'alerts.fillRateDown', { placement, share: percent(1 - now / before) }),
    reason: t('alerts.downReason', {
      now: format(now),
      hours: Number(data.hours),
      until: timeIn(timeZone, data.until),
      before: format(before),
    }),
    path: `/reports?${query}`,
    fix: { text: t('alerts.apiLogText'), link: t('alerts.apiLogLink'), path: '/api-log?status=4xx&days=1' },
  };
}

function describeMetric(data: Alert['data'], timeZone: string): AlertText {
  const until = timeIn(timeZone, data.until);
  const measured = { value: Number(data.value), limit: Number(data.limit), until };
  return {
    title: t('alerts.metricReached', { name: text(data.name) }),
    reason: measuredText(data as unknown as MetricCondition, measured),
    path: `/metric-alerts/${Number(data.alert_id)}`,
  };
}
