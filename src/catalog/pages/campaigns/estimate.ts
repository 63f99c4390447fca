import { eligibilityOf } from '../../../decision/explain/draft-eligibility.ts';
import type { Values } from '../../../management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { card, notice } from '../../../shell/components.ts';
import type { PublisherContext } from '../../../shell/context.ts';
import { count, percent } from '../../../shell/format.ts';
import type { CampaignRules } from '../../rules/rules.ts';
import { checkRules } from '../../rules/validate.ts';
import { type RecentSessions, sampledDays } from './recent-sessions.ts';

/**
 * Beside the form of a campaign: how many recent sessions it is eligible for, asked again with each edit.
 * @param readOnly the stored values, of a form that cannot be edited: the browser sends nothing of its fields
 */
export async function estimatePanel(
  recent: RecentSessions,
  context: PublisherContext,
  readOnly: Values | null,
): Promise<Html> {
  const shown = readOnly === null ? liveEstimate(context) : await estimate(recent, context, readOnly);
  return html`<div class="sticky">${card(t('campaigns.reach'), shown)}</div>`;
}

const liveEstimate = ({ path }: PublisherContext): Html => html`
  <div id="estimate" aria-live="polite" hx-post="${path('/campaigns/estimate')}" hx-include="closest .split"
    hx-trigger="load, input delay:500ms from:closest .split, change delay:200ms from:closest .split">
    <p class="hint">${t('campaigns.counting')}</p>
  </div>`;

const noneEligible = (): Html => notice('warn', html`<p>${t('campaigns.noneEligible')}</p>`);

/** The estimate of stored rules, or of typed ones, which may be incomplete. */
export async function estimate(
  recent: RecentSessions,
  { publisher }: PublisherContext,
  { rules, is_loyalty }: Values,
): Promise<Html> {
  if (checkRules(rules).length > 0) return html`<p class="hint">${t('campaigns.incomplete')}</p>`;
  const { contexts, share } = await recent(publisher.id);
  if (contexts.length === 0) return html`<p class="hint">${t('campaigns.noSessions', { days: sampledDays })}</p>`;
  const isEligible = eligibilityOf({ rules: rules as CampaignRules, isLoyalty: is_loyalty === true }, publisher);
  const eligible = contexts.filter(isEligible).length;
  const shown = (sessions: number): string => count(Math.round(sessions / share));
  const reach = {
    eligible: shown(eligible),
    sessions: shown(contexts.length),
    days: sampledDays,
    share: percent(eligible / contexts.length),
  };
  return html`
    <p class="reach">${tHtml(share < 1 ? 'campaigns.eligibleAbout' : 'campaigns.eligible', reach)}</p>
    <meter min="0" max="1" value="${eligible / contexts.length}" aria-label="${t('campaigns.eligibleShare')}"></meter>
    <p class="hint">${t(share < 1 ? 'campaigns.reachHintSample' : 'campaigns.reachHint')}</p>
    ${eligible === 0 && noneEligible()}`;
}
