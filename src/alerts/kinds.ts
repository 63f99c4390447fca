import type { Executor } from '../platform/db/pool.ts';
import type { MessageKey } from '../platform/i18n/messages.ts';
import type { AttemptKey } from '../webhooks/last-failure.ts';
import type { OperationalEvent } from '../webhooks/raise-events.ts';

/** Alert kinds with the message keys of their labels (docs/reference/management.md#alerts). */
export const alertKinds = {
  'endpoint.failing': 'alerts.kindEndpointFailing',
  'endpoint.transformation_failing': 'alerts.kindTransformationFailing',
  'endpoint.disabled': 'alerts.kindEndpointDisabled',
  'endpoint.recovered': 'alerts.kindEndpointRecovered',
  'budget.80': 'alerts.kindBudget80',
  'budget.100': 'alerts.kindBudget100',
  'goal.behind': 'alerts.kindGoalBehind',
  'campaign.ended': 'alerts.kindCampaignEnded',
  'campaign.landing_page_lost': 'alerts.kindLandingPageLost',
  'offer.action_page_lost': 'alerts.kindActionPageLost',
  'draft.waiting': 'alerts.kindDraftWaiting',
  'coupons.low': 'alerts.kindCouponsLow',
  'coupons.empty': 'alerts.kindCouponsEmpty',
  'messages.refused': 'alerts.kindMessagesRefused',
  'key.expires': 'alerts.kindKeyExpires',
  'placement.fill_rate': 'alerts.kindFillRate',
  'placement.revenue': 'alerts.kindRevenue',
  'metric.threshold': 'alerts.kindMetric',
  'ranking.stalled': 'alerts.kindRankingStalled',
  'data_files.failing': 'alerts.kindDataFilesFailing',
} as const satisfies Readonly<Record<string, MessageKey>>;

export type AlertKind = keyof typeof alertKinds;

/** Kind of the alerts about the thresholds that publishers set (`metrics/resource.ts`). */
export const metricKind: AlertKind = 'metric.threshold';

export const isAlertKind = (name: string): name is AlertKind => Object.hasOwn(alertKinds, name);

/** Alert kinds that new admins get by e-mail and new channels receive, until they choose others. */
export const defaultKinds: readonly AlertKind[] = [
  'endpoint.failing',
  'endpoint.transformation_failing',
  'endpoint.disabled',
  'budget.100',
  'coupons.empty',
  'draft.waiting',
  'metric.threshold',
];

/** Alert kinds that operational events trigger. */
export const kindOfEvent: Partial<Record<OperationalEvent, AlertKind>> = {
  'endpoint.failing': 'endpoint.failing',
  'endpoint.disabled': 'endpoint.disabled',
  'endpoint.recovered': 'endpoint.recovered',
  'campaign.budget_reached': 'budget.100',
  'campaign.goal_behind': 'goal.behind',
  'campaign.ended': 'campaign.ended',
  'campaign.landing_page_lost': 'campaign.landing_page_lost',
  'offer.action_page_lost': 'offer.action_page_lost',
  'draft.waiting': 'draft.waiting',
};

/**
 * Fact that triggers an alert. `subject` is the affected object, and `cause` distinguishes repeated occurrences of the
 * fact.
 */
export type AlertFact = {
  publisherId: number;
  kind: AlertKind;
  subject: string;
  cause: string;
  data: Readonly<Record<string, unknown>>;
};

export type Alert = Omit<AlertFact, 'cause'> & { id: number; raisedAt: Date; endedAt: Date | null };

/** Attempt that an alert about an endpoint refers to, as stored in the data of the alert. */
export function failedAttemptOf(publisherId: number, data: Alert['data']): AttemptKey | null {
  const { failed_delivery_id: deliveryId, failed_generation: generation } = data;
  return typeof deliveryId === 'string' && typeof generation === 'number'
    ? { publisherId, deliveryId, generation }
    : null;
}

/** Check that another module contributes to detect lasting problems. */
export type AlertCheck = {
  /** Name of the job that runs the check. */
  name: string;
  /** Alert kinds that the check can find. No other check records them. */
  kinds: readonly AlertKind[];
  findFacts: (executor: Executor, nowMs: number) => Promise<readonly AlertFact[]>;
};
