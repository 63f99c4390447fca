import type { PageExtensions, PublisherContext } from '../../../catalog/pages.ts';
import { type CampaignRules, checkRules } from '../../../catalog/rules.ts';
import { eligibilityOf } from '../../../decision/draft-eligibility.ts';
import type { Values } from '../../../management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { card, notice } from '../../../shell/components.ts';
import { count, percent } from '../../../shell/format.ts';
import { type RecentSessions, sampledDays } from './recent-sessions.ts';

/**
 * Creates the reach estimate that is shown next to the campaign form: the number of recent sessions for which the
 * campaign is eligible. It is updated with each edit.
 */
export const createReach = (recent: RecentSessions): NonNullable<PageExtensions['reach']> => ({
  panel: async (context, readOnly) => {
    const content = readOnly === null ? liveEstimate(context) : await estimate(recent, context, readOnly);
    return html`<div class="sticky">${card(t('campaigns.reach'), content)}</div>`;
  },
  ofTyped: (context, typed) => estimate(recent, context, typed),
});

const liveEstimate = ({ path }: PublisherContext): Html => html`
  <div id="estimate" aria-live="polite" hx-post="${path('/campaigns/estimate')}" hx-include="closest .split"
    hx-trigger="load, input delay:500ms from:closest .split, change delay:200ms from:closest .split">
    <p class="hint">${t('campaigns.counting')}</p>
  </div>`;

const noneEligible = (): Html => notice('warn', html`<p>${t('campaigns.noneEligible')}</p>`);

/** Estimates the reach for the stored rules, or for the rules in the form, which may be incomplete. */
async function estimate(
  recent: RecentSessions,
  { publisher }: PublisherContext,
  { rules, is_loyalty }: Values,
): Promise<Html> {
  if (checkRules(rules).length > 0) return html`<p class="hint">${t('campaigns.incomplete')}</p>`;
  const { contexts, share } = await recent(publisher.id);
  if (contexts.length === 0) return html`<p class="hint">${t('campaigns.noSessions', { days: sampledDays })}</p>`;
  const isEligible = eligibilityOf({ rules: rules as CampaignRules, isLoyalty: is_loyalty === true }, publisher);
  const eligible = contexts.filter(isEligible).length;
  const estimateOf = (sessions: number): string => count(Math.round(sessions / share));
  const reach = {
    eligible: estimateOf(eligible),
    sessions: estimateOf(contexts.length),
    days: sampledDays,
    share: percent(eligible / contexts.length),
  };
  return html`
    <p class="reach">${tHtml(share < 1 ? 'campaigns.eligibleAbout' : 'campaigns.eligible', reach)}</p>
    <meter min="0" max="1" value="${eligible / contexts.length}" aria-label="${t('campaigns.eligibleShare')}"></meter>
    <p class="hint">${t(share < 1 ? 'campaigns.reachHintSample' : 'campaigns.reachHint')}</p>
    ${eligible === 0 && noneEligible()}`;
}
