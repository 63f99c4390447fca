import type { PublisherContext } from '../../../catalog/pages.ts';
import type { CampaignGoal, CampaignRules } from '../../../catalog/rules.ts';
import type { View } from '../../../management/resource.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { timeOf } from '../../../platform/lib/time-zone.ts';
import { actionButton, badge, collapsedCard, copyable, link, linkButton, notice } from '../../../shell/components.ts';
import { count, moment, percent } from '../../../shell/format.ts';
import type { PageServices } from '../services.ts';
import { budgetTile, deliveryCell } from './delivery.ts';
import { canEdit } from './sections.ts';

/** Progress of a goal, in the API format. */
type GoalProgress = { percent: number; delivered: number; on_track: boolean };

/**
 * Renders the state of a campaign: its delivery, budget, goal and reach.
 * @param row campaign with the fields that other modules add
 */
export async function stateTiles(
  { extensions: { reach } }: PageServices,
  context: PublisherContext,
  row: View,
): Promise<Html> {
  const delivery = html`${deliveryCell(row)}${scheduleText(context, row)}${pauseButton(context, row)}`;
  const budgetPath = `${context.path(`/campaigns/${row.id}`)}?edit=budget#budget`;
  const none = (text: string, add: string): Html =>
    html`<strong>${text}</strong>${canEdit(context) && html`<small>${link(budgetPath, add)}</small>`}`;
  const budget = budgetTile(row) ?? none(t('campaigns.budgetNone'), t('campaigns.setBudget'));
  const goal = goalTile(context, row) ?? none(t('campaigns.goalNone'), t('campaigns.setGoal'));
  return html`
    <section class="stats state" aria-label="${t('campaigns.stateTitle')}">
      ${tile(t('campaigns.delivery'), delivery)}
      ${tile(t('campaigns.budget'), budget)}
      ${tile(t('campaigns.goal'), goal)}
      ${reach !== undefined && tile(t('campaigns.reach'), await reach.tile(context, row))}
    </section>`;
}

const tile = (label: string, content: Html): Html => html`<div class="stat"><h2>${label}</h2>${content}</div>`;

function pauseButton(context: PublisherContext, { id, active }: View): Html {
  if (!canEdit(context)) return nothing;
  return actionButton(context, {
    to: context.path(`/campaigns/${id}/active`),
    text: t(active === true ? 'crud.pause' : 'offers.resume'),
    small: true,
    values: { active: active === true ? 'no' : 'yes' },
  });
}

/** Describes the next change in delivery: the start, or else the end. */
function scheduleText({ publisher }: PublisherContext, row: View): Html {
  const { start_at: start, end_at: end } = (row.rules as CampaignRules).schedule ?? {};
  const at = (text: string) => new Date(timeOf(text) ?? 0);
  if (row.delivery_state === 'scheduled' && start !== undefined)
    return html`<small>${t('campaigns.start')}: ${moment(publisher, at(start))}</small>`;
  return end === undefined ? nothing : html`<small>${t('campaigns.end')}: ${moment(publisher, at(end))}</small>`;
}

function goalTile({ publisher }: PublisherContext, row: View): Html | null {
  const goal = row.goal as CampaignGoal | null;
  const progress = (row.delivery ?? null) as GoalProgress | null;
  if (goal === null || progress === null) return null;
  const { metric } = goal;
  const share = Math.min(1, progress.delivered / goal.count);
  const values = { metric, delivered: count(progress.delivered), count: count(goal.count) };
  const state = t('campaigns.planState', { state: progress.on_track ? 'on' : 'behind' });
  return html`
    <strong>${percent(share)}</strong>
    <meter min="0" max="1" value="${share}" aria-label="${t('campaigns.goal')}"></meter>
    <small>${t('campaigns.goalDelivered', values)} ${moment(publisher, new Date(timeOf(goal.by) ?? 0), 'day')}</small>
    <span>${badge(state, progress.on_track ? 'good' : 'warn')}</span>`;
}

/** Renders a notice if the campaign is not shown because none of its offers is active. */
export function offersNotice({ deps }: PageServices, context: PublisherContext, { id }: View): Html {
  const offers = deps.catalog.current().offersByCampaign.get(Number(id)) ?? [];
  if (offers.some(({ active }) => active)) return nothing;
  const add = linkButton(context.path(`/offers/new?campaign_id=${id}`), t('campaigns.addOffer'));
  return notice('warn', html`<p>${t('campaigns.noActiveOffer')}</p>${canEdit(context) && html`<p>${add}</p>`}`);
}

/** Renders a card that shows the stored rules as JSON, in the API format. */
export const rulesJson = (rules: unknown): Html =>
  collapsedCard(t('campaigns.rulesJson'), copyable(JSON.stringify(rules, null, 2), t('campaigns.rulesJson')));
