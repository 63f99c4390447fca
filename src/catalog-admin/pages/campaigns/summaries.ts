import { comparisonsIn } from '../../../catalog/conditions.ts';
import { splitKind } from '../../../catalog/event-kinds.ts';
import type { PublisherContext } from '../../../catalog/pages.ts';
import type { CampaignGoal, CampaignRules, TargetingKey, TotalCap } from '../../../catalog/rules.ts';
import type { View } from '../../../management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { timeOf } from '../../../platform/lib/time-zone.ts';
import { badge, type Cell, link } from '../../../shell/components.ts';
import { count, countryName, moment, moneyFormat, percent } from '../../../shell/format.ts';
import { payoutText } from '../../payout-text.ts';
import { offers } from '../../resources/offers.ts';
import { offerName } from '../offers/offer-list.ts';
import type { PageServices } from '../services.ts';
import { stoppedBadge } from '../stop.ts';
import { frequencyText } from './caps-form.ts';
import { windowText } from './schedule-form.ts';
import { targetedKeys } from './targeting-form.ts';
import { comparisonText } from './targeting-sentence.ts';

/** Summaries of the sections of a campaign: only values that differ from the defaults, or a text if none does. */

type Fact = readonly [name: string, value: Cell];

const facts = (entries: readonly (Fact | false)[], none = ''): Html => {
  const visibleFacts = entries.filter((entry) => entry !== false);
  if (visibleFacts.length === 0) return html`<p>${none}</p>`;
  const item = ([name, value]: Fact): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<dl class="facts">${visibleFacts.map(item)}</dl>`;
};

/** Maximum number of values of a list in a summary. */
const maxItems = 4;

/** Joins values. If there are too many, the text ends with the number of further ones. */
const listed = (values: readonly string[]): string =>
  values.length <= maxItems
    ? values.join(', ')
    : t('campaigns.andFurther', {
        values: values.slice(0, maxItems - 1).join(', '),
        count: values.length - maxItems + 1,
      });

const rulesOf = ({ rules }: View): CampaignRules => rules as CampaignRules;

const maxTextLength = 120;
const shortened = (text: string): string =>
  text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).trimEnd()}…`;

export function basicsSummary(view: View, advertiserName: string): Html {
  const { active, category, tags, offer_description: description, is_product, is_loyalty } = view;
  return facts([
    [t('common.status'), t(active === true ? 'campaigns.active' : 'campaigns.pausedState')],
    [t('campaigns.advertiser'), advertiserName],
    category !== '' && [t('campaigns.category'), String(category)],
    (tags as string[]).length > 0 && [t('campaigns.tags'), listed(tags as string[])],
    description !== '' && [t('campaigns.fullDescription'), shortened(String(description))],
    is_product === true && [t('campaigns.isProduct'), t('campaigns.yes')],
    is_loyalty === true && [t('campaigns.isLoyalty'), t('campaigns.yes')],
  ]);
}

export const landingSummary = ({ landing_url: url, click_id_param: parameter }: View): Html => html`
  <span translate="no">${String(url)}</span>
  ${parameter !== 'click_id' && facts([[t('campaigns.clickIdParam'), String(parameter)]])}`;

export const payoutSummary = (view: View): Html => html`<span translate="no">${payoutText(view)}</span>`;

export function scheduleSummary({ publisher }: PublisherContext, view: View): Html {
  const { start_at: start, end_at: end, hours = [], time_zone: zone } = rulesOf(view).schedule ?? {};
  return facts(
    [
      start !== undefined && [t('campaigns.start'), timeText(publisher, start)],
      end !== undefined && [t('campaigns.end'), timeText(publisher, end)],
      hours.length > 0 && [t('campaigns.hourGrid'), listed(hours.map(windowText))],
      zone !== undefined && [t('campaigns.hoursZone'), zone],
    ],
    t('campaigns.alwaysRuns'),
  );
}

/** Formats a stored time. An invalid time, which may have been stored by an earlier version, is shown as it is. */
function timeText(publisher: PublisherContext['publisher'], text: string): Cell {
  const atMs = timeOf(text);
  return atMs === null || Number.isNaN(atMs) ? text : moment(publisher, new Date(atMs));
}

export function budgetSummary({ publisher }: PublisherContext, view: View): Html {
  const { total_caps: caps = [], pacing = 'asap' } = rulesOf(view);
  const goal = view.goal as CampaignGoal | null;
  const overspend = Number(view.overspend_percent);
  const limits = caps.map((cap) => capText(cap, String(view.payout_currency)));
  return facts(
    [
      limits.length > 0 && [t('campaigns.budgets'), listed(limits)],
      pacing !== 'asap' && pacing !== 'as_fast' && [t('campaigns.pacing'), t(`campaigns.pacing_${pacing}`)],
      overspend > 0 && [t('campaigns.overspend'), percent(overspend / 100)],
      goal !== null && [
        t('campaigns.goal'),
        html`${t('campaigns.goalText', { count: count(goal.count), metric: goal.metric })}
          ${timeText(publisher, goal.by)}`,
      ],
    ],
    t('campaigns.noBudget'),
  );
}

function capText({ metric, per, limit }: TotalCap, currency: string): string {
  const { kind, name } = splitKind(metric);
  const amount = metric === 'budget' ? moneyFormat(currency)(limit) : count(limit);
  return t('campaigns.capText', { limit: amount, metric: kind, event: name, per });
}

const valueText = (key: TargetingKey, value: string): string =>
  key === 'countries' ? countryName(value.toUpperCase()) : value;

/** Returns the included and the excluded values of targeting lists. */
function targeted(view: View, keys: readonly TargetingKey[]): Fact[] {
  const { targeting = {} } = rulesOf(view);
  return keys.flatMap((key) => {
    const { include = [], exclude = [] } = targeting[key] ?? {};
    const textOf = (values: readonly string[]): string => listed(values.map((value) => valueText(key, value)));
    return [
      ...(include.length > 0 ? [[t(`campaigns.target_${key}`), textOf(include)] as const] : []),
      ...(exclude.length > 0 ? [[t(`campaigns.exclude_${key}`), textOf(exclude)] as const] : []),
    ];
  });
}

export const targetingSummary = (_context: PublisherContext, view: View): Html =>
  facts(targeted(view, targetedKeys), t('campaigns.everywhere'));

export function usersSummary(_context: PublisherContext, view: View): Html {
  const { conditions, frequency_caps: caps = [], without_identity: withoutId } = rulesOf(view);
  const optOutDays = view.opt_out_days as number | null;
  return facts(
    [
      ...targeted(view, ['audiences']),
      conditions !== undefined && [t('campaigns.conditions'), listed(comparisonsIn(conditions).map(comparisonText))],
      caps.length > 0 && [t('campaigns.frequencyCapping'), listed(caps.map(frequencyText))],
      withoutId === 'withhold' && [t('campaigns.withoutId'), t('campaigns.doNotServe')],
      optOutDays !== null && [t('campaigns.optOutDays'), count(optOutDays)],
    ],
    t('campaigns.allUsers'),
  );
}

export function prioritySummary(_context: PublisherContext, view: View): Html {
  const { exclusion_groups: groups = [], force_priority: isForced } = rulesOf(view);
  return facts([
    [t('campaigns.priority'), count(Number(view.priority))],
    [t('campaigns.ranking'), t(view.ranking === 'fixed' ? 'campaigns.rankingFixed' : 'campaigns.rankingLearned')],
    view.weight !== 0 && [t('campaigns.weight'), count(Number(view.weight))],
    groups.length > 0 && [t('campaigns.exclusionGroups'), listed(groups)],
    isForced === true && [t('campaigns.forcePriority'), t('campaigns.yes')],
  ]);
}

/** Maximum number of offers in the summary. */
const maxOffers = '5';

export async function offersSummary(
  { management }: PageServices,
  context: PublisherContext,
  { id }: View,
): Promise<Html> {
  const { rows, nextCursor } = await management.list(context, offers, { campaign_id: String(id), limit: maxOffers });
  if (rows.length === 0) return html`<p>${t('offers.none')}</p>`;
  const item = (row: View): Html => html`
    <li>
      ${link(context.path(`/offers/${row.id}`), offerName(row))}
      ${row.stopped === true ? stoppedBadge() : row.active !== true && badge(t('campaigns.pausedState'), 'warn')}
    </li>`;
  return html`<ul class="facts">${rows.map(item)}${nextCursor !== null && html`<li>…</li>`}</ul>`;
}
