import { isHeld } from '../../../budgets/caps.ts';
import type { Delivery } from '../../../budgets/goals.ts';
import type { Standing } from '../../../budgets/standing.ts';
import { splitKind } from '../../../catalog/event-kinds.ts';
import type { PublisherContext } from '../../../catalog/pages.ts';
import type { Goal } from '../../../catalog/rules.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, collapsedCard, table } from '../../../shell/components.ts';
import { count, moment, moneyFormat, percent } from '../../../shell/format.ts';
import type { HoldBack } from '../../goals.ts';
import { outcomeText } from '../../outcome-text.ts';

/**
 * Renders the card for a campaign's budgets and total caps. It compares spent, reserved and unbilled amounts with the
 * pacing plan.
 */
export function budgetsCard(
  { publisher }: PublisherContext,
  standings: readonly Standing[],
  currency: string | null,
): Html {
  if (standings.length === 0) return nothing;
  const money = moneyFormat(currency);
  const columns = [
    { text: t('campaigns.limit') },
    { text: t('campaigns.spent'), numeric: true },
    { text: t('campaigns.reserved'), numeric: true },
    { text: t('metrics.unbilled'), numeric: true },
    { text: t('campaigns.plan'), numeric: true },
    { text: t('campaigns.atRate') },
  ];
  const rows = standings.map((standing) => {
    const { publisherId, metric, per, limit, spent, reserved, unbilled, planned } = standing;
    const amount = metric === 'budget' ? money : count;
    const eventKind = splitKind(metric);
    const name = t('campaigns.limitOf', { limit: amount(limit), metric: eventKind.kind, event: eventKind.name, per });
    const share = limit > 0 ? Math.min(1, spent / limit) : 1;
    return [
      html`${name}${publisherId !== null && html`<br><small>${t('campaigns.atPublisher', { id: publisherId })}</small>`}
        <br><meter min="0" max="1" value="${share}" aria-label="${t('campaigns.spent')}"></meter> ${percent(share)}`,
      amount(spent),
      isHeld(metric) ? amount(reserved) : '–',
      metric === 'budget' ? money(unbilled) : '–',
      planText(spent + reserved, planned, limit, amount),
      courseText(publisher, standing, amount),
    ];
  });
  return collapsedCard(t('campaigns.budgets'), table(t('campaigns.budgets'), columns, rows), {
    lead: t('campaigns.budgetsLead'),
    isOpen: standings.some(({ exhausted, reachedMs }) => exhausted || reachedMs !== null),
  });
}

/** Renders when a limit will be reached, or the expected use at the end of its period. */
function courseText(
  publisher: PublisherContext['publisher'],
  { exhausted, reachedMs, projected, endMs }: Standing,
  amount: (value: number) => string,
): Html | string {
  if (exhausted) {
    const next = endMs === null ? nothing : html`${t('campaigns.newPeriod')} ${moment(publisher, new Date(endMs))}`;
    return html`${badge(t('campaigns.isReached'), 'bad')}<br><small>${next}</small>`;
  }
  if (reachedMs !== null) {
    const time = moment(publisher, new Date(reachedMs));
    return html`${badge(t('campaigns.willBeReached'), 'warn')}<br><small>${time}</small>`;
  }
  return projected === null ? '–' : t('campaigns.projectedUse', { amount: amount(projected) });
}

/** Tolerated deviation from a pacing plan, as a fraction of the limit. */
const tolerance = 0.02;

function planText(
  used: number,
  planned: number | null,
  limit: number,
  amount: (value: number) => string,
): Html | string {
  if (planned === null) return '–';
  const by = (used - planned) / limit;
  const state = Math.abs(by) <= tolerance ? 'on' : by > 0 ? 'ahead' : 'behind';
  return html`${amount(planned)}<br><small>${t('campaigns.planState', { state })}</small>`;
}

type GoalCard = { goal: Goal; delivery: Delivery; holdBacks: readonly HoldBack[] };

/** Renders the card for a campaign's goal, with its delivery and the rules that limit it. */
export function goalCard({ publisher }: PublisherContext, { goal, delivery, holdBacks }: GoalCard): Html {
  const { percent: ofPlan, expected, delivered, onTrack } = delivery;
  const share = Math.min(1, delivered / goal.count);
  const figures = {
    metric: goal.metric,
    delivered: count(delivered),
    count: count(goal.count),
    expected: count(expected),
  };
  const rules = holdBacks.map(({ rule, share: cost }) => html`<li>${outcomeText(rule)}: ${percent(cost)}</li>`);
  return collapsedCard(
    t('campaigns.goal'),
    html`
      <p>${t('campaigns.goalDelivered', figures)} ${moment(publisher, new Date(goal.byMs))}</p>
      <p><meter min="0" max="1" value="${share}" aria-label="${t('campaigns.goal')}"></meter> ${percent(share)}</p>
      <p>${t('campaigns.goalExpected', figures)} ${badge(percent(ofPlan / 100), onTrack ? 'good' : 'warn')}</p>
      ${!onTrack && rules.length > 0 && html`<p>${t('campaigns.goalHeldBack')}</p><ul>${rules}</ul>`}`,
    { lead: t('campaigns.goalLead'), isOpen: !onTrack },
  );
}
