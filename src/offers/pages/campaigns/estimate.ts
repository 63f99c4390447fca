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
 * Creates the reach estimate of a campaign: the number of recent sessions for which it is eligible. Next to a form, it
 * is updated with each edit.
 */
export const createReach = (recent: RecentSessions): NonNullable<PageExtensions['reach']> => ({
  panel: async (context, source) => {
    const content =
      'stored' in source ? await withHint(recent, context, source.stored) : liveEstimate(source.estimateUrl);
    return card(t('campaigns.reach'), content);
  },
  tile: async (context, stored) => (await estimate(recent, context, stored)).content,
  ofTyped: (context, typed) => withHint(recent, context, typed),
});

const liveEstimate = (url: string): Html => html`
  <div id="estimate" aria-live="polite" hx-post="${url}" hx-include="closest .split"
    hx-trigger="load, input delay:500ms from:closest .split, change delay:200ms from:closest .split">
    <p class="hint">${t('campaigns.counting')}</p>
  </div>`;

const noneEligible = (): Html => notice('warn', html`<p>${t('campaigns.noneEligible')}</p>`);

/** Estimated reach, with a text that explains how it was estimated. */
type Estimate = { content: Html; hint?: string };

async function withHint(recent: RecentSessions, context: PublisherContext, values: Values): Promise<Html> {
  const { content, hint } = await estimate(recent, context, values);
  return html`${content}${hint !== undefined && html`<p class="hint">${hint}</p>`}`;
}

/** Estimates the reach for the stored rules, or for the rules in the form, which may be incomplete. */
async function estimate(
  recent: RecentSessions,
  { publisher }: PublisherContext,
  { rules, is_loyalty }: Values,
): Promise<Estimate> {
  if (checkRules(rules).length > 0) return { content: html`<p class="hint">${t('campaigns.incomplete')}</p>` };
  const { contexts, share } = await recent(publisher.id);
  if (contexts.length === 0)
    return { content: html`<p class="hint">${t('campaigns.noSessions', { days: sampledDays })}</p>` };
  const isEligible = eligibilityOf({ rules: rules as CampaignRules, isLoyalty: is_loyalty === true }, publisher);
  const eligible = contexts.filter(isEligible).length;
  const estimateOf = (sessions: number): string => count(Math.round(sessions / share));
  const reach = {
    eligible: estimateOf(eligible),
    sessions: estimateOf(contexts.length),
    days: sampledDays,
    share: percent(eligible / contexts.length),
  };
  const content = html`
    <p class="reach">${tHtml(share < 1 ? 'campaigns.eligibleAbout' : 'campaigns.eligible', reach)}</p>
    <meter min="0" max="1" value="${eligible / contexts.length}" aria-label="${t('campaigns.eligibleShare')}"></meter>
    ${eligible === 0 && noneEligible()}`;
  return { content, hint: t(share < 1 ? 'campaigns.reachHintSample' : 'campaigns.reachHint') };
}
