import type { Publisher, Snapshot } from '../catalog/types.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { dayMs } from '../platform/lib/time.ts';
import { card, drawnChart, link, linkButton, type RowsTarget, rowsLink, table } from '../shell/components.ts';
import { momentText, moneyFormat, utc } from '../shell/format.ts';
import type { ConvertedTotal } from './converted.ts';
import { currenciesOf, inCurrency, type Metrics, sumOf } from './metrics.ts';
import { comparedText, formatted } from './pages/explorer/charts.ts';
import {
  type FormatMoney,
  formatMetric,
  isComparable,
  isKnownBy,
  metricOf,
  type ReportMetric,
} from './pages/explorer/metrics.ts';
import { namesOf, valueText } from './pages/explorer/names.ts';
import { dayText } from './pages/explorer/periods.ts';
import type { ActivityRow } from './query/types.ts';
import { viewValue } from './view.ts';

const tileMetrics = ['sessions', 'impressions', 'clicks', 'ctr', 'revenue', 'fill_rate'].map(metricOf);

/** Renders the value of a metric as a link to the rows behind it. */
export type RowsOf = (metric: string, value: string, filters?: RowsTarget['filters']) => Html | string;

/** Creates a function that links values to their rows in a range of days. Missing values have no link. */
export const rowsOfDays =
  (path: (rest: string) => string, days: NonNullable<RowsTarget['days']>): RowsOf =>
  (metric, value, filters = {}) =>
    value === '–' ? value : rowsLink(path, value, { metric, days, filters });

const tile = (text: string, value: Html | string, below?: Html): Html =>
  html`<div class="stat"><span>${text}</span><strong>${value}</strong>${below}</div>`;

export function metricTiles(total: Metrics, money: FormatMoney, rowsOf: RowsOf): Html {
  const tiles = tileMetrics.map((metric) =>
    tile(metric.text, rowsOf(metric.name, formatted(metric, total, 'time', money))),
  );
  return html`<div class="stats">${tiles}</div>`;
}

type TodayAndLastWeek = { today: Metrics; lastWeek: Metrics };

export function todayTiles({ today, lastWeek }: TodayAndLastWeek, money: FormatMoney, rowsOf: RowsOf): Html {
  const compared = { now: today, before: lastWeek };
  const tiles = tileMetrics.map((metric) =>
    tile(
      metric.text,
      rowsOf(metric.name, formatted(metric, today, 'time', money)),
      comparedText(metric, compared, lastWeek, 'time'),
    ),
  );
  const isCompared = tileMetrics.some((metric) => isComparable(metric, lastWeek));
  return html`
    <h2 class="section">${isCompared ? t('reports.todayVsLastWeek') : t('reports.today')}</h2>
    ${!isCompared && html`<p class="hint">${t('reports.noLastWeek')}</p>`}
    <div class="stats">${tiles}</div>`;
}

type Days = {
  rows: readonly ActivityRow[];
  /** The first day, as yyyy-mm-dd. */
  from: string;
  count: number;
  path: (rest: string) => string;
};

export function charts({ rows, from, count, path }: Days, currency: string | null): Html {
  const byDay = withEmptyDays(rows, from, count);
  const times = byDay.map(({ time }) => ({ text: dayText(time), atMs: Date.parse(time) }));
  const rowsOfDay = (metric: string) => (value: string, index: number) => {
    const { time = from } = byDay[index] ?? {};
    return rowsOfDays(path, { from: time, to: time })(metric, value);
  };
  const chart = (caption: string, metrics: readonly ReportMetric[]): Html => {
    const [first = metricOf('')] = metrics;
    return drawnChart({
      caption,
      heading: t('layout.day'),
      times,
      series: metrics.map(({ name, text }) => ({
        label: text,
        values: byDay.map((day) => viewValue(name, day.metrics)),
        rowsOf: rowsOfDay(name),
      })),
      style: first.kind as 'count',
      format: (value) => formatMetric(first, value, String),
    });
  };
  // Clicks have their own axis: next to impressions, their line would be flat.
  const activity = html`
    ${chart(t('reports.activityByDay'), ['sessions', 'impressions'].map(metricOf))}
    ${chart(t('reports.metricBy_day', { metric: metricOf('clicks').text }), [metricOf('clicks')])}`;
  const revenue = drawnChart({
    caption: t('reports.revenueByDay'),
    heading: t('layout.day'),
    times,
    ...revenueLines(byDay, currency, rowsOfDay('revenue')),
  });
  return html`${card(t('reports.activity'), activity)}${card(t('metrics.revenue'), revenue)}`;
}

/** Returns the lines of the revenue chart, one per currency. */
function revenueLines(
  byDay: readonly { metrics: Metrics }[],
  currency: string | null,
  rowsOf: (value: string, index: number) => Html | string,
) {
  const metric = metricOf('revenue');
  const currencies = currenciesOf(byDay.map(({ metrics }) => metrics));
  const lines = currencies.length > 0 ? currencies : [currency];
  const only = lines.length > 1 ? null : (lines[0] ?? null);
  return {
    series: lines.map((currencyCode) => ({
      label: lines.length > 1 ? `${metric.text} (${currencyCode})` : metric.text,
      values: byDay.map(({ metrics }) =>
        viewValue('revenue', currencyCode === null ? metrics : inCurrency(metrics, currencyCode)),
      ),
      rowsOf,
    })),
    style: { currency: only },
    format: (value: number) => formatMetric(metric, value, moneyFormat(only)),
  };
}

/** Adds rows with zeros for days without activity, so that every day appears in charts. */
function withEmptyDays(rows: readonly ActivityRow[], from: string, days: number): { time: string; metrics: Metrics }[] {
  const byDay = new Map(rows.map(({ time, metrics }) => [time, metrics]));
  const none = sumOf([]);
  const startMs = Date.parse(`${from}T00:00:00Z`);
  return Array.from({ length: days }, (_, index) => {
    const time = new Date(startMs + index * dayMs).toISOString().slice(0, 10);
    return { time, metrics: byDay.get(time) ?? none };
  });
}

/**
 * Returns the text that shows the total in the reporting currency, with the date of its exchange rates. The text is
 * empty if there is no reporting currency or no revenue, or if all revenue is already in the reporting currency.
 */
export function convertedText(
  { reportingCurrency }: Publisher,
  converted: ConvertedTotal | null | undefined,
  total: Metrics,
): string {
  if (reportingCurrency === null || converted === undefined || total.money.length === 0) return '';
  if (total.money.every(({ currency }) => currency === reportingCurrency)) return '';
  if (converted === null) return t('reports.notConverted', { currency: reportingCurrency });
  const amount = moneyFormat(reportingCurrency)(converted.revenue);
  const { rates_as_of: day } = converted;
  return day === null
    ? t('reports.convertedTotal', { amount })
    : t('reports.convertedAt', { amount, day: momentText(utc, Date.parse(day), 'day') });
}

export function convertedNote(...total: Parameters<typeof convertedText>): Html {
  const text = convertedText(...total);
  return text === '' ? nothing : html`<p class="hint">${text}</p>`;
}

/**
 * Returns the offer names for a breakdown. The publisher's current offers have a link. Offers that the publisher no
 * longer shows appear as their ID.
 */
export function offerNames(
  snapshot: Snapshot,
  publisher: Publisher,
  pageOf: (id: number) => string,
): (id: string | number) => Html | string {
  const names = namesOf(snapshot, publisher);
  return (id) => {
    const text = valueText(names, 'offer', String(id));
    const offer = names.offer(Number(id));
    if (offer === undefined) return text;
    const name = offer.publisherId === publisher.id ? link(pageOf(offer.id), text) : text;
    return html`${name}<br><span class="hint">${offer.campaign.advertiserName}</span>`;
  };
}

/** Maximum number of rows in a breakdown table. */
export const maxGroups = 10;

type Breakdown = {
  title: string;
  by: 'placement' | 'offer';
  groups: readonly { value: string | number; metrics: Metrics }[];
  nameOf: (id: string | number) => Html | string;
  money: FormatMoney;
  rowsOf: RowsOf;
  /** URL of the report with all groups. */
  allHref: string;
};

/** Renders a table of the groups with the most impressions. */
export function breakdown({ title, by, groups, nameOf, money, rowsOf, allHref }: Breakdown): Html {
  const shownMetrics = tileMetrics.filter((metric) => isKnownBy(metric, by));
  const cells = groups.map(({ value, metrics: sums }) => {
    const filters = { [by]: [String(value)] };
    return [
      nameOf(value),
      ...shownMetrics.map((metric) => rowsOf(metric.name, formatted(metric, sums, by, money), filters)),
    ];
  });
  const columns = [{ text: t(`dimensions.${by}`) }, ...shownMetrics.map(({ text }) => ({ text, numeric: true }))];
  return html`
    <div class="between">
      <h2 class="section">${title}</h2>
      ${linkButton(allHref, t('reports.exploreOne'), 'quiet')}
    </div>
    <div class="top">${table(title, columns, cells)}</div>`;
}
