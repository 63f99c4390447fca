import { payoutText } from '../../catalog-admin/payout-text.ts';
import { withAdditions } from '../../management/additions.ts';
import type { View } from '../../management/resource.ts';
import { getRow } from '../../management/rows.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import {
  badge,
  type Cell,
  card,
  descriptionList,
  emptyState,
  linkButton,
  pager,
  strongLink,
  table,
} from '../../shell/components.ts';
import { keyIn, queryText } from '../../shell/context.ts';
import { moment, momentOr, perLocale } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import { ownRows, readCarriers } from '../scope.ts';
import { campaignForm, datesOf } from './campaign-form.ts';
import { type AdvertiserContext, type PageServices, zoneOf } from './services.ts';

type Usage = { metric: string; per: string; limit: number; spent: number; reserved: number; unbilled: number };

const number = perLocale((locale, kind) =>
  kind === ''
    ? new Intl.NumberFormat(locale, { maximumFractionDigits: 2 })
    : new Intl.NumberFormat(locale, { style: 'currency', currency: kind }),
);

const campaignBadge = (row: View): Html => {
  const state = String(row.delivery_state ?? '');
  const tone = state === 'delivering' ? 'good' : state === 'stopped' || state === 'exhausted' ? 'bad' : 'plain';
  return badge(t('campaigns.deliveryState', { state }), tone);
};

const offerBadge = (row: View): Html => {
  if (row.stopped === true) return badge(t('advertiser.stopped'), 'bad');
  return row.active === true ? badge(t('campaigns.active'), 'good') : badge(t('campaigns.pausedState'));
};

/** Renders the page with an advertiser's campaigns and the publishers that serve them. */
export async function campaignsPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const { management, kinds, additions } = services;
  const own = ownRows(kinds, context.advertiser);
  const cursor = queryText(context, 'cursor');
  const { rows, nextCursor } = await management.list(context, own.campaigns, {
    limit: '50',
    sort: 'name',
    ...(cursor !== '' && { cursor }),
  });
  const ids = rows.map(({ id }) => Number(id));
  const { carriers, shown: extended } = await management.read(context, async (work) => ({
    carriers: await readCarriers(work, ids),
    shown: await withAdditions(additions, kinds.campaigns, work, rows),
  }));
  const path = context.path('/campaigns');
  const zone = zoneOf(services, context);
  const columns = [
    t('common.name'),
    t('common.status'),
    t('advertiser.shownAt'),
    t('advertiser.from'),
    t('advertiser.until'),
  ];
  return {
    title: t('nav.campaigns'),
    lead: t('advertiser.campaignsLead'),
    nav: 'advertiser-campaigns',
    body:
      rows.length === 0
        ? emptyState('campaigns', t('advertiser.noCampaigns'), t('advertiser.noCampaignsText'))
        : html`
          ${table(
            t('nav.campaigns'),
            columns.map((text) => ({ text })),
            extended.map((row) => [
              strongLink(`${path}/${row.id}`, String(row.name)),
              campaignBadge(row),
              (carriers.get(Number(row.id)) ?? []).map(({ name }) => name).join(', '),
              momentOr(zone, datesOf(row).start_at ?? null),
              momentOr(zone, datesOf(row).end_at ?? null),
            ]),
          )}
          ${pager(
            cursor === '' ? null : path,
            nextCursor === null ? null : `${path}?cursor=${encodeURIComponent(nextCursor)}`,
          )}`,
  };
}

/** Renders a campaign page with its budgets and offers, and the forms for proposing changes. */
export async function campaignPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const { management, kinds, additions } = services;
  const own = ownRows(kinds, context.advertiser);
  const { view, usage, carriers, state } = await management.read(context, async (work) => {
    const row = await getRow(own.campaigns, work, keyIn(context));
    const [campaign] = await withAdditions(additions, kinds.campaigns, work, [row]);
    const served = await readCarriers(work, [Number(row.id)]);
    const usages = (campaign?.usage ?? []) as Usage[];
    return { view: row, usage: usages, carriers: served.get(Number(row.id)) ?? [], state: campaign?.delivery_state };
  });
  const zone = zoneOf(services, context);
  const offers = await management.list(context, own.offers, { campaign_id: String(view.id), limit: '100' });
  return {
    title: String(view.name),
    lead: campaignBadge({ delivery_state: state }),
    nav: 'advertiser-campaigns',
    trail: [{ text: t('nav.campaigns'), href: context.path('/campaigns') }],
    actions: linkButton(context.path(`/offers/new?campaign_id=${view.id}`), t('advertiser.proposeOffer'), 'main'),
    body: html`
      ${card(t('advertiser.about'), about(view, carriers, zone))}
      ${usage.length > 0 && card(t('advertiser.budgets'), budgets(usage, String(view.payout_currency)))}
      ${card(t('nav.offers'), offerTable(context, offers.rows))}
      ${card(t('advertiser.proposeChange'), campaignForm(context, view, zone), { lead: t('advertiser.proposeLead') })}`,
  };
}

const about = (view: View, carriers: readonly { name: string }[], zone: { timeZone: string }): Html =>
  descriptionList([
    [t('campaigns.landingPage'), String(view.landing_url)],
    [t('advertiser.pays'), payoutText(view)],
    [t('advertiser.shownAt'), carriers.map(({ name }) => name).join(', ')],
    ...(['start_at', 'end_at'] as const).flatMap((name): [string, Cell][] => {
      const at = datesOf(view)[name] ?? null;
      return at === null ? [] : [[t(name === 'start_at' ? 'advertiser.from' : 'advertiser.until'), moment(zone, at)]];
    }),
  ]);

/** Renders how much of each budget and total cap is used in the current period. */
function budgets(usage: readonly Usage[], currency: string): Html {
  const columns = [t('advertiser.limit'), t('advertiser.spent'), t('advertiser.reserved'), t('advertiser.unbilled')];
  return table(
    t('advertiser.budgets'),
    [{ text: t('advertiser.budget') }, ...columns.map((text) => ({ text, numeric: true }))],
    usage.map(({ metric, per, limit, spent, reserved, unbilled }) => {
      const amountText = (value: number): string => number(metric === 'budget' ? currency : '').format(value);
      const name = t('advertiser.budgetOf', { metric, per });
      return [
        name,
        amountText(limit),
        amountText(spent),
        amountText(reserved),
        metric === 'budget' ? amountText(unbilled) : '',
      ];
    }),
  );
}

const offerTable = (context: AdvertiserContext, rows: readonly View[]): Html =>
  rows.length === 0
    ? html`<p class="hint">${t('advertiser.noOffers')}</p>`
    : table(
        t('nav.offers'),
        [{ text: t('offers.headline') }, { text: t('common.status') }],
        rows.map((row) => [
          strongLink(
            context.path(`/offers/${row.id}`),
            String(row.title || row.short_headline || t('offers.unnamed', { id: String(row.id) })),
          ),
          offerBadge(row),
        ]),
      );
