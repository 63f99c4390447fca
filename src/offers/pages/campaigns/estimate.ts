import { contradictionsIn } from '../../../catalog/conditions.ts';
import type { PageExtensions, PublisherContext } from '../../../catalog/pages.ts';
import { type CampaignRules, checkRules } from '../../../catalog/rules.ts';
import type { Values } from '../../../management/resource.ts';
import type { ErrorDetail } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { wordProblem } from '../../../platform/problem.ts';
import { badge, card, descriptionList, notice } from '../../../shell/components.ts';
import { count, countryName, moment, percent, roughPercent } from '../../../shell/format.ts';
import { moreFields } from '../../../shell/forms.ts';
import { conditionText } from '../../condition-text.ts';
import { checkTargeting, type SessionExample, type TargetingCheck } from '../../targeting/check.ts';
import { type RecentSessions, sampledDays } from './recent-sessions.ts';

/**
 * Creates the reach estimate of a campaign: the number of recent sessions for which it is eligible. Next to a form, it
 * is updated with each edit.
 */
export function createReach(recent: RecentSessions, now: () => number): NonNullable<PageExtensions['reach']> {
  const withDetails = async (context: PublisherContext, values: Values): Promise<Html> => {
    const { content, details } = await estimate(recent, context, values, now());
    return html`${content}${details}`;
  };
  return {
    panel: async (context, source) => {
      const content = 'stored' in source ? await withDetails(context, source.stored) : liveEstimate(source.estimateUrl);
      return card(t('campaigns.reach'), content);
    },
    tile: async (context, stored) => (await estimate(recent, context, stored, now())).content,
    ofTyped: withDetails,
  };
}

const liveEstimate = (url: string): Html => html`
  <div id="estimate" aria-live="polite" hx-post="${url}" hx-include="closest .split"
    hx-trigger="load, input delay:500ms from:closest .split, change delay:200ms from:closest .split">
    <p class="hint">${t('campaigns.counting')}</p>
  </div>`;

const noneEligible = (): Html => notice('warn', html`<p>${t('campaigns.noneEligible')}</p>`);

/** Estimated reach, and details about the conditions and about how it was estimated. */
type Estimate = { content: Html; details?: Html };

/** Estimates the reach for the stored rules, or for the rules in the form, which may be incomplete. */
async function estimate(
  recent: RecentSessions,
  { publisher }: PublisherContext,
  { rules: values, is_loyalty }: Values,
  nowMs: number,
): Promise<Estimate> {
  const errors = checkRules(values);
  if (errors.length > 0) return { content: incomplete(errors) };
  const sample = await recent(publisher.id);
  if (sample.contexts.length === 0)
    return { content: html`<p class="hint">${t('campaigns.noSessions', { days: sampledDays })}</p>` };
  const rules = values as CampaignRules;
  const check = await checkTargeting(sample, { rules, isLoyalty: is_loyalty === true }, publisher);
  const share = check.matching / check.sessions;
  const reach = {
    eligible: count(check.matching),
    sessions: count(check.sessions),
    days: sampledDays,
    share: percent(share),
  };
  const content = html`
    <p class="reach">${tHtml(check.isSampled ? 'campaigns.eligibleAbout' : 'campaigns.eligible', reach)}</p>
    <meter min="0" max="1" value="${share}" aria-label="${t('campaigns.eligibleShare')}"></meter>
    ${check.matching === 0 && noneEligible()}`;
  const hint = html`<p class="hint">${t(check.isSampled ? 'campaigns.reachHintSample' : 'campaigns.reachHint')}</p>`;
  const details = html`
    ${remarks(check, rules, nowMs)}
    ${effectList(check, rules)}
    ${hint}
    ${exampleList(publisher, check, rules)}`;
  return { content, details };
}

/** Maximum number of displayed errors. */
const maxErrors = 3;

function incomplete(errors: readonly ErrorDetail[]): Html {
  const texts = [...new Set(errors.map(({ message }) => wordProblem(message)))].slice(0, maxErrors);
  return html`
    <p class="hint">${t('campaigns.incomplete')}</p>
    <ul class="hint">${texts.map((text) => html`<li>${text}</li>`)}</ul>`;
}

/** Renders contradictions in the rules, and attributes and audiences that may be misspelt. */
function remarks({ unseen }: TargetingCheck, rules: CampaignRules, nowMs: number): Html {
  const texts = [
    ...contradictionsIn(rules, nowMs).map(({ message }) => wordProblem(message)),
    ...unseen.map(({ kind, key }) => t(`campaigns.unseen_${kind}`, { key })),
  ];
  return html`${texts.map((text) => notice('warn', html`<p>${text}</p>`))}`;
}

/** Renders how many sessions each condition excludes, and how many would match without it. */
function effectList({ sessions, conditions }: TargetingCheck, rules: CampaignRules): Html {
  if (conditions.length === 0) return nothing;
  const items = conditions.map((condition): [string, Html] => {
    const { excluded, only } = condition;
    const values = { share: roughPercent(excluded / sessions), only: roughPercent(only / sessions) };
    const title = t('campaigns.excludedCounts', { excluded: count(excluded), only: count(only) });
    return [conditionText(condition, rules), html`<span title="${title}">${t('campaigns.excludes', values)}</span>`];
  });
  return html`<h3>${t('campaigns.excludedSessions')}</h3>${descriptionList(items)}`;
}

/** Renders recent sessions with the conditions that they miss. */
function exampleList(
  publisher: PublisherContext['publisher'],
  { examples }: TargetingCheck,
  rules: CampaignRules,
): Html {
  const item = ({ context, unmet }: SessionExample): Html => {
    const { placement, device, geo, audiences } = context;
    const facts = [placement, geo.country === null ? null : countryName(geo.country), device, ...audiences];
    const missed = unmet.map((condition) => conditionText(condition, rules)).join('; ');
    return html`
      <li>
        ${unmet.length === 0 ? badge(t('campaigns.exampleMatches'), 'good') : badge(t('campaigns.exampleMisses'))}
        ${moment(publisher, new Date(context.nowMs))}<br>
        <small>${facts.filter((fact) => fact !== null).join(' · ')}</small>
        ${missed !== '' && html`<br><small>${t('campaigns.exampleMissed', { conditions: missed })}</small>`}
      </li>`;
  };
  return moreFields(t('campaigns.examples'), html`<ul class="facts">${examples.map(item)}</ul>`);
}
