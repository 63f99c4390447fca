import type { Values } from '../../../catalog/management/resource.ts';
import type { CampaignRules } from '../../../catalog/rules/rules.ts';
import { checkRules } from '../../../catalog/rules/validate.ts';
import { eligibilityOf } from '../../../decision/explain/draft-eligibility.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { card, notice } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { count, percent } from '../../shell/format.ts';
import { type RecentSessions, sampledDays } from './recent-sessions.ts';

/** Beside the form of a campaign: how many recent sessions it is eligible for, asked again with each edit. */
export const estimatePanel = ({ path }: PublisherContext): Html => html`
  <div class="sticky">
    ${card(
      'Reach',
      html`
        <div id="estimate" aria-live="polite" hx-post="${path('/campaigns/estimate')}" hx-include="closest .split"
          hx-trigger="load, input delay:500ms from:closest .split, change delay:200ms from:closest .split">
          <p class="hint">Counting recent sessions…</p>
        </div>`,
    )}
  </div>`;

const noneEligible = notice('warn', html`<p>No recent session is eligible. Check the targeting for typing errors.</p>`);

/** The estimate of typed rules, which may be incomplete. */
export async function estimate(
  recent: RecentSessions,
  { publisher }: PublisherContext,
  { rules, is_loyalty }: Values,
): Promise<Html> {
  if (checkRules(rules).length > 0) return html`<p class="hint">Complete the marked fields to see an estimate.</p>`;
  const { contexts, share } = await recent(publisher.id);
  if (contexts.length === 0)
    return html`<p class="hint">No sessions with a stored decision in the last
    ${sampledDays} days.</p>`;
  const isEligible = eligibilityOf({ rules: rules as CampaignRules, isLoyalty: is_loyalty === true }, publisher);
  const eligible = contexts.filter(isEligible).length;
  const shown = (sessions: number): string => count(Math.round(sessions / share));
  return html`
    <p class="reach"><strong>${share < 1 && 'About '}${shown(eligible)}</strong> of ${shown(contexts.length)}
      sessions of the last ${sampledDays} days are eligible (${percent(eligible / contexts.length)}).</p>
    <meter min="0" max="1" value="${eligible / contexts.length}" aria-label="Eligible share"></meter>
    <p class="hint">By targeting, hours and conditions${share < 1 && ', from a sample'}. Start and end, caps, budgets
      and other campaigns are not counted.</p>
    ${eligible === 0 && noneEligible}`;
}
