import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import type { Metrics } from '../../reports/metrics.ts';
import { card, linkButton, table } from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { dayForm, perLocale } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { readCampaigns, readCarriers } from '../scope.ts';
import type { AdvertiserContext, PageServices } from './services.ts';

const groups = ['campaign', 'date', 'publisher'] as const;
type Group = (typeof groups)[number];

/** What an advertiser is told: nothing of what publishers show beside its offers. */
const counts = ['impressions', 'clicks', 'conversions'] as const;
const money = ['revenue_micros', 'unbilled_micros'] as const;
type Sums = Record<(typeof counts)[number] | (typeof money)[number], number>;

type Line = { name: string; currency: string; sums: Sums };

type Report = { group: Group; from: string; to: string; lines: readonly Line[] };

const isDay = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
const defaultDays = 30;

/**
 * The sums of an advertiser's campaigns at every publisher that shows or showed them, each day that of its publisher.
 * Amounts of different currencies are not added.
 */
async function readReport(services: PageServices, context: AdvertiserContext): Promise<Report> {
  const { management, reports, catalog } = services;
  const asked = queryText(context, 'by');
  const group = groups.find((one) => one === asked) ?? 'campaign';
  const nowMs = management.now();
  const given = (name: string, fallback: number): string =>
    isDay(queryText(context, name)) ? queryText(context, name) : dayOf(fallback);
  const [from, to] = [given('from', nowMs - (defaultDays - 1) * dayMs), given('to', nowMs)];
  const { campaigns, carriers, currencies } = await management.read(context, async (work) => {
    const found = await readCampaigns(work, context.advertiser);
    const { rows } = await work.executor.query<{ id: number; payout_currency: string }>(
      'select id, payout_currency from campaigns where id = any($1)',
      [[...found.keys()]],
    );
    return {
      campaigns: found,
      carriers: await readCarriers(work, [...found.keys()]),
      currencies: new Map(rows.map((row) => [row.id, row.payout_currency])),
    };
  });
  const publishers = new Map([...carriers.values()].flat().map(({ id, name }) => [id, name]));
  const lines = new Map<string, Line>();
  for (const [publisherId, publisherName] of publishers) {
    const publisher = catalog.current().publishers.get(publisherId);
    if (publisher === undefined) continue;
    const resources = { campaigns: new Set(campaigns.keys()), placements: null };
    const parameters = { from, to, group_by: 'campaign' };
    const { rows } = await reports.activity(publisher, parameters, { resources });
    for (const { time, group: values, metrics } of rows) {
      const id = Number(values[0]);
      const currency = currencies.get(id) ?? '';
      const names: Record<Group, string> = { campaign: campaigns.get(id) ?? '', date: time, publisher: publisherName };
      const key = `${group === 'campaign' ? id : names[group]} ${currency}`;
      const line = lines.get(key) ?? { name: names[group], currency, sums: noSums() };
      lines.set(key, { ...line, sums: added(line.sums, metrics) });
    }
  }
  return { group, from, to, lines: [...lines.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

const noSums = (): Sums => ({ impressions: 0, clicks: 0, conversions: 0, revenue_micros: 0, unbilled_micros: 0 });

const added = (sums: Sums, metrics: Metrics): Sums =>
  Object.fromEntries(Object.entries(sums).map(([name, value]) => [name, value + metrics[name as keyof Sums]])) as Sums;

const whole = perLocale((locale) => new Intl.NumberFormat(locale));
const amount = perLocale((locale, currency) => new Intl.NumberFormat(locale, { style: 'currency', currency }));
const day = perLocale((locale) => new Intl.DateTimeFormat(locale, { ...dayForm, timeZone: 'UTC' }));

export async function reportPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const report = await readReport(services, context);
  const query = new URLSearchParams({ by: report.group, from: report.from, to: report.to });
  return {
    title: t('nav.reports'),
    lead: t('advertiser.reportsLead'),
    nav: 'advertiser-reports',
    actions: linkButton(context.path(`/reports/csv?${query}`), t('advertiser.csv'), 'quiet'),
    body: html`${filters(context, report)}${card(t('nav.reports'), reportTable(report))}`,
  };
}

const names = (): Record<Group, string> => ({
  campaign: t('dimensions.campaign'),
  date: t('advertiser.day'),
  publisher: t('layout.publisher'),
});

function filters(context: AdvertiserContext, { group, from, to }: Report): Html {
  const form = createForm({ by: group, from, to });
  const choices = groups.map((value) => ({ value, text: names()[value] }));
  return html`
    <form class="filters" method="get" action="${context.path('/reports')}">
      ${form.select('by', { label: t('advertiser.by'), choices })}
      ${form.input('from', { label: t('advertiser.from'), type: 'date' })}
      ${form.input('to', { label: t('advertiser.until'), type: 'date' })}
      <button class="button">${t('common.apply')}</button>
    </form>`;
}

function reportTable({ group, lines }: Report): Html {
  if (lines.length === 0) return html`<p class="hint">${t('advertiser.noActivity')}</p>`;
  const numeric = [
    ...[t('advertiser.impressions'), t('advertiser.clicks'), t('advertiser.conversions')],
    ...[t('advertiser.spent'), t('advertiser.unbilled')],
  ];
  return table(
    t('nav.reports'),
    [{ text: names()[group] }, ...numeric.map((text) => ({ text, numeric: true }))],
    lines.map(({ name, currency, sums }) => [
      group === 'date' ? day('').format(new Date(name)) : name,
      ...counts.map((one) => whole('').format(sums[one])),
      ...money.map((one) => amount(currency).format(sums[one] / 1_000_000)),
    ]),
  );
}

/** A cell of a table that a spreadsheet may open: what it takes for a formula gets an apostrophe first. */
const csvCell = (text: string): string => `"${/^[=+\-@\t\r]/.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`;

export async function reportCsv(services: PageServices, context: AdvertiserContext): Promise<PageResult> {
  const { group, from, to, lines } = await readReport(services, context);
  const head = [group, 'currency', ...counts, 'spent', 'unbilled'].join(',');
  const rows = lines.map(({ name, currency, sums }) =>
    [
      ...[csvCell(name), currency, ...counts.map((one) => sums[one])],
      ...money.map((one) => (sums[one] / 1_000_000).toFixed(6)),
    ].join(','),
  );
  const download = `${[head, ...rows].join('\r\n')}\r\n`;
  return { download, type: 'text/csv; charset=utf-8', name: `report-${from}-${to}.csv` };
}
