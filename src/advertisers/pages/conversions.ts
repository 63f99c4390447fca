import { isDay } from '../../platform/http/day-range.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { fromMicros } from '../../platform/money.ts';
import {
  badge,
  card,
  copyable,
  descriptionList,
  emptyState,
  noMatches,
  notice,
  pager,
  table,
} from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { moment, perLocale } from '../../shell/format.ts';
import { createForm, filterSelect } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import {
  type AdvertiserConversion,
  type ConversionFilter,
  conversionsOfAdvertiser,
} from '../../tracking/conversions-of-advertiser.ts';
import { type ReportScope, readReportScope } from '../report.ts';
import { type AdvertiserContext, type PageServices, zoneOf } from './services.ts';

const rowsPerPage = 50;
/** Maximum age of listed conversions, in milliseconds. */
const listedMs = 90 * dayMs;

const amount = perLocale((locale, currency) => new Intl.NumberFormat(locale, { style: 'currency', currency }));

/** Returns the URL of the list of conversions that match a filter. */
export function conversionsUrl({ path }: AdvertiserContext, filter: Partial<ConversionFilter>, before?: Date): string {
  const { campaignId, publisherId, from, to } = filter;
  const values = { campaign: campaignId, publisher: publisherId, from, to, before: before?.toISOString() };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, String(value));
  return `${path('/conversions')}${query.size === 0 ? '' : `?${query}`}`;
}

function filterIn(context: AdvertiserContext): ConversionFilter {
  const idIn = (name: string): number | null => {
    const text = queryText(context, name);
    return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
  };
  const dayIn = (name: string): string | null => (isDay(queryText(context, name)) ? queryText(context, name) : null);
  return { campaignId: idIn('campaign'), publisherId: idIn('publisher'), from: dayIn('from'), to: dayIn('to') };
}

function filterForm({ path }: AdvertiserContext, filter: ConversionFilter, scope: ReportScope): Html {
  const form = createForm({ from: filter.from ?? '', to: filter.to ?? '' });
  const select = (name: string, label: string, names: Iterable<[number, string]>, selected: number | null): Html =>
    filterSelect(
      name,
      label,
      [...names].map(([id, text]) => ({ value: String(id), text })),
      String(selected ?? ''),
    );
  const campaigns = [...scope.campaigns].map(([id, { name }]): [number, string] => [id, name]);
  const { publishers } = scope;
  return html`
    <form class="filters" method="get" action="${path('/conversions')}">
      ${select('campaign', t('dimensions.campaign'), campaigns, filter.campaignId)}
      ${publishers.size > 1 && select('publisher', t('layout.publisher'), publishers, filter.publisherId)}
      ${form.input('from', { label: t('advertiser.from'), type: 'date' })}
      ${form.input('to', { label: t('advertiser.until'), type: 'date' })}
      <button class="button">${t('common.apply')}</button>
    </form>`;
}

/** Renders the reported conversions, each with its billed amount or the reason why it was not billed. */
export async function conversionsPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const { management, catalog } = services;
  const nowMs = management.now();
  const requestedMs = Date.parse(queryText(context, 'before'));
  const before = new Date(Number.isNaN(requestedMs) ? nowMs + dayMs : requestedMs);
  const since = new Date(nowMs - listedMs);
  const filter = filterIn(context);
  const advertiserId = context.advertiser.id;
  const { rows, scope } = await management.read(context, async (work) => ({
    scope: await readReportScope(work, advertiserId),
    rows: await conversionsOfAdvertiser(work.executor, { advertiserId, since, before, limit: rowsPerPage, filter }),
  }));
  const last = rows.at(-1);
  const next = rows.length < rowsPerPage || last === undefined ? null : conversionsUrl(context, filter, last.at);
  const columns = [
    ...[t('advertiser.time'), t('dimensions.campaign'), t('layout.publisher'), t('advertiser.event')],
    ...[t('advertiser.transaction'), t('advertiser.outcome'), t('advertiser.amount')],
  ];
  const list = () =>
    table(
      t('advertiser.conversions'),
      columns.map((text, at) => ({ text, numeric: at === columns.length - 1 })),
      rows.map((row) => [
        moment(zoneOf(services, context), row.at),
        scope.campaigns.get(row.campaignId)?.name ?? `#${row.campaignId}`,
        catalog.current().publishers.get(row.publisherId)?.name ?? '',
        row.event,
        row.txnId ?? '',
        outcome(row),
        amount(row.currency).format(fromMicros(row.payoutMicros)),
      ]),
    );
  const isFiltered = Object.values(filter).some((value) => value !== null);
  const isEmpty = rows.length === 0 && !isFiltered && !(requestedMs > 0);
  return {
    title: t('advertiser.conversions'),
    lead: t('advertiser.conversionsLead'),
    nav: 'advertiser-conversions',
    body: isEmpty
      ? emptyState('activity', t('advertiser.noConversions'), t('advertiser.noConversionsText'))
      : html`
        ${filterForm(context, filter, scope)}
        ${rows.length === 0 ? noMatches() : list()}
        ${pager(requestedMs > 0 ? conversionsUrl(context, filter) : null, next)}`,
  };
}

function outcome({ isVoid, suspicious, unbilledMicros, currency }: AdvertiserConversion): Html {
  if (isVoid) return badge(t('advertiser.voided'), 'plain');
  if (suspicious !== null)
    return html`${badge(t('advertiser.refused'), 'bad')}
      ${t('advertiser.suspicious', { reason: suspicious })}`;
  if (unbilledMicros !== 0) {
    const would = amount(currency).format(fromMicros(unbilledMicros));
    return html`${badge(t('advertiser.notBilled'), 'warn')} ${t('advertiser.budgetReached', { amount: would })}`;
  }
  return badge(t('advertiser.billed'), 'good');
}

/** Renders the page for setting up the conversion tag and the postback, with a form for testing a click ID. */
export async function trackingPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const { publicUrl } = services;
  const clickId = queryText(context, 'click_id').trim();
  const tag = `<script src="${publicUrl}/sdk/conversion.js" async></script>`;
  const sale =
    `<script src="${publicUrl}/sdk/conversion.js" async\n` +
    '  data-event="purchase" data-payout="49.90" data-currency="EUR" data-txn-id="order-1001"></script>';
  const id = clickId === '' ? 'CLICK_ID' : encodeURIComponent(clickId);
  const call = `curl '${publicUrl}/track?click_id=${id}&event=purchase&payout=49.90&currency=EUR&txn_id=order-1001'`;
  return {
    title: t('advertiser.tracking'),
    lead: t('advertiser.trackingLead'),
    nav: 'advertiser-tracking',
    body: html`
      ${card(t('advertiser.tag'), copyable(tag, t('advertiser.tag')), { lead: t('advertiser.tagLead') })}
      ${card(t('advertiser.saleTag'), copyable(sale, t('advertiser.saleTag')))}
      ${card(t('advertiser.postback'), copyable(call, t('advertiser.postback')), {
        lead: t('advertiser.postbackLead'),
      })}
      ${card(t('advertiser.test'), await clickTest(services, context, clickId), { lead: t('advertiser.testLead') })}`,
  };
}

async function clickTest(services: PageServices, context: AdvertiserContext, clickId: string): Promise<Html> {
  const { management, testClick } = services;
  const form = html`
    <form class="filters" method="get" action="${context.path('/tracking')}">
      ${createForm({ click_id: clickId }).input('click_id', { label: t('advertiser.clickId'), required: true })}
      <button class="button">${t('advertiser.testButton')}</button>
    </form>`;
  if (clickId === '') return form;
  const click = await management.read(context, (work) => testClick(work.executor, clickId, context.advertiser.id));
  if (click === null) return html`${form}${notice('failed', html`<p>${t('advertiser.clickUnknown')}</p>`)}`;
  const { offerId, at, suspicious } = click;
  const result =
    suspicious === null
      ? notice('done', html`<p>${t('advertiser.clickFound')}</p>`)
      : notice('warn', html`<p>${t('advertiser.suspicious', { reason: suspicious })}</p>`);
  return html`${form}${result}
    ${descriptionList([
      [t('dimensions.offer'), `#${offerId}`],
      [t('advertiser.time'), moment(zoneOf(services, context), at, 'second')],
    ])}`;
}
