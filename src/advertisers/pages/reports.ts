import { isDay } from '../../platform/http/day-range.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { fromMicros } from '../../platform/money.ts';
import { linkButton, table } from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { dayForm, perLocale } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import {
  counts,
  money,
  type ReportGroup,
  type ReportLine,
  readReport,
  readReportScope,
  reportGroups,
} from '../report.ts';
import { conversionsUrl } from './conversions.ts';
import type { AdvertiserContext, PageServices } from './services.ts';

type Report = { by: ReportGroup; from: string; to: string; lines: readonly ReportLine[] };

const defaultDays = 30;

async function reportIn(services: PageServices, context: AdvertiserContext): Promise<Report> {
  const { management } = services;
  const groupName = queryText(context, 'by');
  const nowMs = management.now();
  const dayParameter = (name: string, fallback: number): string =>
    isDay(queryText(context, name)) ? queryText(context, name) : dayOf(fallback);
  const query = {
    by: reportGroups.find((group) => group === groupName) ?? 'campaign',
    from: dayParameter('from', nowMs - (defaultDays - 1) * dayMs),
    to: dayParameter('to', nowMs),
  };
  const scope = await management.read(context, (work) => readReportScope(work, context.advertiser.id));
  return { ...query, lines: await readReport(services, scope, query) };
}

const whole = perLocale((locale) => new Intl.NumberFormat(locale));
const amount = perLocale((locale, currency) => new Intl.NumberFormat(locale, { style: 'currency', currency }));
const day = perLocale((locale) => new Intl.DateTimeFormat(locale, { ...dayForm, timeZone: 'UTC' }));

export async function reportPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const report = await reportIn(services, context);
  const query = new URLSearchParams({ by: report.by, from: report.from, to: report.to });
  return {
    title: t('nav.reports'),
    lead: t('advertiser.reportsLead'),
    nav: 'advertiser-reports',
    actions: linkButton(context.path(`/reports/csv?${query}`), t('advertiser.csv'), 'quiet'),
    body: html`${filters(context, report)}${reportTable(context, report)}`,
  };
}

const names = (): Record<ReportGroup, string> => ({
  campaign: t('dimensions.campaign'),
  date: t('advertiser.day'),
  publisher: t('layout.publisher'),
});

function filters(context: AdvertiserContext, { by, from, to }: Report): Html {
  const form = createForm({ by, from, to });
  const choices = reportGroups.map((value) => ({ value, text: names()[value] }));
  return html`
    <form class="filters" method="get" action="${context.path('/reports')}">
      ${form.select('by', { label: t('advertiser.by'), choices })}
      ${form.input('from', { label: t('advertiser.from'), type: 'date' })}
      ${form.input('to', { label: t('advertiser.until'), type: 'date' })}
      <button class="button">${t('common.apply')}</button>
    </form>`;
}

function reportTable(context: AdvertiserContext, { by, from, to, lines }: Report): Html {
  if (lines.length === 0) return html`<p class="hint">${t('advertiser.noActivity')}</p>`;
  const numeric = [
    ...[t('advertiser.impressions'), t('advertiser.clicks'), t('advertiser.conversions')],
    ...[t('advertiser.spent'), t('advertiser.unbilled')],
  ];
  const countOf = (metric: (typeof counts)[number], { id, name, sums }: ReportLine): Html | string => {
    const text = whole('').format(sums[metric]);
    if (metric !== 'conversions' || sums.conversions === 0) return text;
    const ofGroup = { campaign: { campaignId: id }, publisher: { publisherId: id }, date: { from: name, to: name } };
    const href = conversionsUrl(context, { from, to, ...ofGroup[by] });
    return html`<a class="opens-rows" href="${href}" title="${t('rows.open')}">${text}</a>`;
  };
  return table(
    t('nav.reports'),
    [{ text: names()[by] }, { text: t('advertiser.currency') }, ...numeric.map((text) => ({ text, numeric: true }))],
    lines.map((line) => [
      by === 'date' ? day('').format(new Date(line.name)) : line.name,
      line.currency,
      ...counts.map((metric) => countOf(metric, line)),
      ...money.map((metric) => amount(line.currency).format(fromMicros(line.sums[metric]))),
    ]),
  );
}

/** Formats a CSV cell. Values that a spreadsheet would interpret as a formula are prefixed with an apostrophe. */
const csvCell = (text: string): string => `"${/^[=+\-@\t\r]/.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`;

export async function reportCsv(services: PageServices, context: AdvertiserContext): Promise<PageResult> {
  const { by, from, to, lines } = await reportIn(services, context);
  const head = [by, 'currency', ...counts, 'spent', 'unbilled'].join(',');
  const rows = lines.map(({ name, currency, sums }) =>
    [
      ...[csvCell(name), currency, ...counts.map((metric) => sums[metric])],
      ...money.map((metric) => fromMicros(sums[metric]).toFixed(6)),
    ].join(','),
  );
  const download = `${[head, ...rows].join('\r\n')}\r\n`;
  return { download, type: 'text/csv; charset=utf-8', name: `report-${from}-${to}.csv` };
}
