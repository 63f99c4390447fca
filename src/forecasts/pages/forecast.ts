import type pg from 'pg';
import { type Card, type PageExtensions, type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import { type CampaignRules, checkRules } from '../../catalog/rules.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { Resource, Values, View } from '../../management/resource.ts';
import { getRow } from '../../management/rows.ts';
import { conditionText } from '../../offers/condition-text.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { type MessageKey, t } from '../../platform/i18n/messages.ts';
import { card, collapsedCard, descriptionList, link, linkButton, notice, table } from '../../shell/components.ts';
import { keyIn } from '../../shell/context.ts';
import { count, moneyFormat, percent } from '../../shell/format.ts';
import type { Shell } from '../../shell/layout.ts';
import { isFragmentRequest } from '../../shell/pages.ts';
import { comparedFigures, readRecord, type TrackRecord } from '../record.ts';
import type { Forecasts } from '../service.ts';
import { type ForecastView, forecastView } from '../view.ts';
import { bandChart, recordChart } from './band-chart.ts';

type PageDeps = { forecasts: Forecasts; campaigns: Resource; pool: pg.Pool; dbHealth: DatabaseHealth };

type Extension = NonNullable<PageExtensions['forecast']>;

/** Registers the page with the forecast of a campaign. */
export function forecastPages(app: App, deps: Shell & PageDeps & { management: ManagementClient }): void {
  const { management, campaigns } = deps;
  publisherPages(app, deps).get('/campaigns/:key/forecast', 'analyst', async (context) => {
    const row = await management.get(context, campaigns, keyIn(context));
    const url = context.path(`/campaigns/${row.id}/forecast`);
    const content = await contentOf(deps, context, row, { stored: row, isNarrow: false, url });
    if (isFragmentRequest(context.request)) return { fragment: content.summary };
    const compared = content.record?.compared ?? [];
    const ids = new Set(compared.map(({ campaignId }) => campaignId));
    const names = await management.read(context, async (work) => {
      const nameOf = new Map<number, string>();
      for (const id of ids) {
        const campaign = await getRow(campaigns, work, String(id)).catch(() => null);
        if (campaign !== null) nameOf.set(id, String(campaign.name));
      }
      return nameOf;
    });
    const campaignCell = (id: number): Html | string =>
      names.has(id) ? link(context.path(`/campaigns/${id}`), names.get(id) as string) : `#${id}`;
    return {
      title: t('forecasts.title'),
      lead: t('forecasts.lead'),
      nav: 'campaigns',
      trail: [
        { text: t('nav.campaigns'), href: context.path('/campaigns') },
        { text: String(row.name), href: context.path(`/campaigns/${row.id}`) },
      ],
      body: html`
        ${card(t('forecasts.expected'), html`<div class="forecast">${content.summary}</div>`)}
        ${content.charts}
        ${
          compared.length > 0 &&
          card(t('forecasts.recordTitle'), recordChart(compared, campaignCell), { lead: t('forecasts.recordLead') })
        }`,
    };
  });
}

/** Renders the card of the campaign page. The browser loads the forecast when the user opens the card. */
export const forecastCard: Card = async ({ path }, id) => {
  const href = path(`/campaigns/${id}/forecast`);
  return collapsedCard(
    t('forecasts.title'),
    html`
      <div class="forecast" aria-live="polite" hx-get="${href}" hx-trigger="toggle once from:closest details">
        <p class="hint">${t('forecasts.calculating')}</p>
      </div>
      <p class="actions">${linkButton(href, t('forecasts.byDay'))}</p>`,
    { lead: t('forecasts.lead') },
  );
};

/** Creates the forecast panel next to the campaign form. */
export const forecastPanel = (deps: PageDeps): Extension => ({
  panel: (_context, forecastUrl) =>
    card(
      t('forecasts.title'),
      html`
        <div id="forecast" class="forecast" aria-live="polite"><p class="hint">${t('forecasts.panelHint')}</p></div>
        <p class="actions">
          <button class="button small" type="button" hx-post="${forecastUrl}" hx-include="closest .split"
            hx-target="#forecast" hx-disabled-elt="this">${t('forecasts.calculate')}</button>
        </p>`,
    ),
  ofTyped: async (context, stored, typed) =>
    (await contentOf(deps, context, { ...stored, ...typed }, { stored, isNarrow: true })).summary,
});

/** Parts of a rendered forecast: the figures with the chart of impressions, and the other charts. */
type Content = { summary: Html; charts: Html; record: TrackRecord | null };

/** Calculates and renders a forecast. Form values may be incomplete. */
async function contentOf(
  { forecasts, pool, dbHealth }: PageDeps,
  { publisher }: PublisherContext,
  values: Values,
  { stored, isNarrow, url = null }: { stored: View | null; isNarrow: boolean; url?: string | null },
): Promise<Content> {
  const only = (summary: Html): Content => ({ summary, charts: nothing, record: null });
  const isComplete =
    checkRules(values.rules).length === 0 &&
    Number(values.payout_amount) >= 0 &&
    /^[A-Z]{3}$/.test(String(values.payout_currency));
  if (!isComplete) return only(html`<p class="hint">${t('campaigns.incomplete')}</p>`);
  try {
    const forecast = await forecasts.of(publisher.id, values, stored);
    const record = await createFailFast(dbHealth)(() => readRecord(pool, publisher.id));
    const view = forecastView(forecast, record);
    const remarks = notes(view, values.rules as CampaignRules);
    if (view.sample.sessions === 0) return { summary: remarks, charts: nothing, record };
    const money = moneyFormat(view.currency);
    const summary = html`
      <div class="forecast-parts">
        <div>${figureTable(view, isNarrow)}</div>
        <div>${chartOf(view, { figure: 'impressions', text: 'forecasts.impressionsByDay', format: count })}</div>
      </div>
      ${remarks}
      <p class="hint">${recordText(record)}</p>
      <p class="hint">${t('forecasts.basis', { sessions: count(view.sample.sessions), days: view.sample.days })}</p>`;
    const charts = html`
      ${card(t('forecasts.clicks'), chartOf(view, { figure: 'clicks', text: 'forecasts.clicksByDay', format: count }))}
      ${card(t('forecasts.spend'), chartOf(view, { figure: 'spend', text: 'forecasts.spendByDay', format: money }))}`;
    return { summary, charts, record };
  } catch (err) {
    if (err instanceof AppError && (err.code === 'too_many_requests' || err.code === 'unavailable'))
      return only(busyNotice(url));
    throw err;
  }
}

/** Renders the notice that the forecast must wait. If its URL is known, the browser requests it again. */
const busyNotice = (url: string | null): Html => {
  const retry = url !== null && html` hx-get="${url}" hx-trigger="load delay:2s" hx-target="closest .forecast"`;
  return html`<div${retry}>${notice('info', html`<p>${t('forecasts.busy')}</p>`)}</div>`;
};

type Figure = ForecastView['totals']['users'];
type Format = (value: number) => string;

/** Rounds to significant digits, because more digits would suggest a precision that a forecast does not have. */
const rounded = (value: number, digits: number): number => Number(value.toPrecision(digits));

const midText = ({ mid }: Figure, format: Format): string => format(rounded(mid, 3));
const rangeText = ({ low, high }: Figure, format: Format): string =>
  t('forecasts.range', { low: format(rounded(low, 2)), high: format(rounded(high, 2)) });

/** Renders the figures as a table or, in a narrow panel, as a list. */
function figureTable({ totals, currency }: ForecastView, isNarrow: boolean): Html {
  const money = moneyFormat(currency);
  const lines: [MessageKey, Figure, Format][] = [
    ['forecasts.impressions', totals.impressions, count],
    ['forecasts.clicks', totals.clicks, count],
    ['forecasts.spend', totals.spend, money],
    ['forecasts.users', totals.users, count],
    ['forecasts.matching', totals.matching, count],
    ['forecasts.sessions', totals.sessions, count],
  ];
  const rows = lines.map(([text, figure, format]): [string, Html] => [
    t(text),
    html`<strong>${midText(figure, format)}</strong><br><small class="hint">${rangeText(figure, format)}</small>`,
  ]);
  if (isNarrow) return descriptionList(rows);
  const columns = [{ text: t('forecasts.figure') }, { text: t('forecasts.midAndInterval'), numeric: true }];
  return table(t('forecasts.title'), columns, rows);
}

/** Notes that explain why the campaign delivers little or nothing. */
const warnings: ReadonlySet<string> = new Set([
  ...['no_history', 'nothing_matches', 'never_wins', 'ended', 'not_started', 'budget_spent', 'no_offers'],
]);

/** Maximum number of listed conditions. */
const maxConditions = 5;

function notes({ notes: codes, conditions, sample }: ForecastView, rules: CampaignRules): Html {
  const isFew = sample.sessions > 0 && sample.matching < sample.sessions / 20;
  const listed = isFew ? conditions.slice(0, maxConditions) : [];
  const texts = codes.map((code) => {
    const text = html`<p>${t(`forecasts.note_${code}` as MessageKey)}</p>`;
    return warnings.has(code) ? notice('warn', text) : html`<div class="hint">${text}</div>`;
  });
  return html`
    ${texts}
    ${
      listed.length > 0 &&
      html`
        <p>${t('forecasts.conditions')}</p>
        <ul>
          ${listed.map(
            (condition) => html`
              <li>${t('forecasts.condition', {
                condition: conditionText(condition, rules),
                matching: count(condition.matching_sessions),
                sessions: count(sample.sessions),
              })}</li>`,
          )}
        </ul>`
    }`;
}

function recordText(record: TrackRecord | null): Html | string {
  if (record === null) return t('forecasts.noRecord');
  const [figure] = comparedFigures;
  const { inside, medianError } = record[figure];
  return t('forecasts.record', { forecasts: record.compared.length, inside, error: percent(rounded(medianError, 2)) });
}

type ChartOf = { figure: 'impressions' | 'clicks' | 'spend'; text: MessageKey; format: Format };

/** Renders the chart of a figure by day. */
const chartOf = ({ days }: ForecastView, { figure, text, format }: ChartOf): Html =>
  bandChart({
    caption: t(text),
    days: days.map((day) => ({ date: day.date, ...day[figure] })),
    format,
    leastStep: figure === 'spend' ? 0.01 : 1,
  });
