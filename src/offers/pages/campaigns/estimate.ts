import type { PageExtensions } from '../../../catalog/page-extensions.ts';
import type { PublisherContext } from '../../../catalog/publisher-pages.ts';
import type { CampaignRules } from '../../../catalog/rules.ts';
import { checkRules } from '../../../catalog/validate-rules.ts';
import { eligibilityOf } from '../../../decision/draft-eligibility.ts';
import type { Values } from '../../../management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { card, notice } from '../../../shell/components.ts';
import { count, percent } from '../../../shell/format.ts';
import { type RecentSessions, sampledDays } from './recent-sessions.ts';

/** How many recent sessions a campaign is eligible for: beside its form, asked again with each edit. */
export const createReach = (recent: RecentSessions): NonNullable<PageExtensions['reach']> => ({
  panel: async (context, readOnly) => {
    const shown = readOnly === null ? liveEstimate(context) : await estimate(recent, context, readOnly);
    return html`<div class="sticky">${card(t('campaigns.reach'), shown)}</div>`;
  },
  ofTyped: (context, typed) => estimate(recent, context, typed),
});

const liveEstimate = ({ path }: PublisherContext): Html => html`
  <div id="estimate" aria-live="polite" hx-post="${path('/campaigns/estimate')}" hx-include="closest .split"
    hx-trigger="load, input delay:500ms from:closest .split, change delay:200ms from:closest .split">
    <p class="hint">${t('campaigns.counting')}</p>
  </div>`;

const noneEligible = (): Html => notice('warn', html`<p>${t('campaigns.noneEligible')}</p>`);

/** The estimate of stored rules, or of typed ones, which may be incomplete. */
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
