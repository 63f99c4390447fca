import { cardsOf, type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { Offer } from '../../../catalog/types.ts';
import { nounOf, pauseActions } from '../../../management/crud-definition.ts';
import { crudPages } from '../../../management/crud-pages.ts';
import { choicesOf } from '../../../management/page-client.ts';
import { readColumns } from '../../../management/read-columns.ts';
import type { Values, View } from '../../../management/resource.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { emptyState, linkButton, warningNotice } from '../../../shell/components.ts';
import { type Fields, keyIn, queryText } from '../../../shell/context.ts';
import { type Choice, filterSelect } from '../../../shell/forms.ts';
import type { Pages } from '../../../shell/pages.ts';
import { createImageStore, firstImageField } from '../../images.ts';
import { offerFields, offerTexts } from '../../offer-form.ts';
import { offerPreview } from '../../offer-preview.ts';
import { campaigns } from '../../resources/campaigns.ts';
import { duplicateOffer } from '../../resources/duplicate.ts';
import { offers, warnOfUrls } from '../../resources/offers.ts';
import { duplicateButton, registerDuplicate } from '../duplicate.ts';
import { figuresOf, type PageServices } from '../services.ts';
import { registerStop, stopButton, stopNotice } from '../stop.ts';
import { createWithImage, creativesCard, registerCreatives } from './creatives.ts';
import { languagePages, languagesCard } from './languages.ts';
import { offerCells, offerColumns, offerName } from './offer-list.ts';
import { translatePages } from './translate.ts';

const statusChoices = (): Choice[] => [
  { value: 'true', text: t('campaigns.active') },
  { value: 'false', text: t('campaigns.pausedState') },
];

/** Registers the offer pages: copy and creatives, with a live preview. */
export function offerPages(app: App, services: PageServices): void {
  const { management, deps } = services;
  const pages = publisherPages(app, services);
  const images = createImageStore(deps.config.imageStore);
  registerCreatives(pages, services, images);
  registerPause(pages, services);
  translatePages(pages, services);
  languagePages(pages, services);
  registerStop(pages, services, { resource: offers, nameOf: offerName });
  registerDuplicate(pages, services, offers, duplicateOffer);
  const stored = (id: unknown): Offer | undefined => deps.catalog.current().offers.get(Number(id));
  const campaignChoices = (context: PublisherContext, selected: unknown): Promise<Choice[]> =>
    choicesOf(management, context, campaigns, selected);

  crudPages(pages, management, {
    resource: offers,
    path: '/offers',
    nav: 'offers',
    icon: 'offers',
    title: 'nav.offers',
    lead: 'offers.lead',
    writes: 'manager',
    undoable: true,
    assets: ['preview.js'],
    filters: {
      names: ['campaign_id', 'active'],
      fields: async (context) => {
        const selected = queryText(context, 'campaign_id');
        return html`
          ${filterSelect('campaign_id', t('dimensions.campaign'), await campaignChoices(context, selected), selected)}
          ${filterSelect('active', t('common.status'), statusChoices(), queryText(context, 'active'))}`;
      },
    },
    columns: offerColumns,
    cells: (context, row) => offerCells(context, row, stored(row.id)),
    ...figuresOf(services, { dimension: 'offer', key: (row) => Number(row.id) }),
    empty: { title: 'offers.none', text: 'offers.noneText' },
    nameOf: offerName,
    blocked: async (context) => {
      const { rows } = await management.list(context, campaigns, { limit: '1' });
      return rows.length > 0 ? null : noCampaigns(context);
    },
    initial: (context) => ({
      campaign_id: queryText(context, 'campaign_id'),
      cta_yes: t('offers.sampleYes'),
      cta_no: t('offers.sampleNo'),
    }),
    read: readOffer,
    fields: async (form, context, { view, values }) => html`
      ${
        view === null &&
        form.select('campaign_id', {
          label: t('dimensions.campaign'),
          choices: await campaignChoices(context, values.campaign_id),
        })
      }
      ${offerFields(form, view === null ? firstImageField(form) : nothing)}`,
    create: (context, values, upload) => createWithImage(services, images, context, values, upload),
    beside: (context, { view }) => offerPreview(services, context, stored(view?.id)),
    bulk: pauseActions,
    afterCreate: ({ path, request }, view) => {
      const page = path(`/offers/${view.id}`);
      return request.upload === null
        ? { to: `${page}#creatives`, done: t('offers.savedNext') }
        : { to: page, done: t('crud.saved', { name: offerName(view) }) };
    },
    actions: (context, view) => html`
      ${linkButton(context.path(`/why?offer=${view.id}`), t('nav.why'))}
      ${stopButton(context, offers, view, offerName(view))}
      ${duplicateButton(context, offers, view)}`,
    notice: async (context, view) => noticesOf(context, view, stored(view.id)),
    below: async (context, view) => html`
      ${await creativesCard(services, context, view)}
      ${languagesCard(context, view)}
      ${view.deleted_at === null && (await cardsOf(services.extensions.offerCards, context, Number(view.id)))}`,
  });
}

function registerPause(pages: Pages<PublisherContext>, { management }: PageServices): void {
  pages.post('/offers/:key/active', 'manager', async (context, fields) => {
    const active = fields.text('active') === 'yes';
    const view = await management.update(context, offers, keyIn(context), { active }, null);
    const name = offerName(view);
    return {
      to: context.path('/offers'),
      done: t(active ? 'offers.resumed' : 'offers.paused', { name }),
      undo: { to: context.path(`/offers/${view.id}/active`), values: { active: active ? 'no' : 'yes' } },
    };
  });
}

const noCampaigns = ({ path }: PublisherContext): Html =>
  emptyState(
    'campaigns',
    t('offers.campaignFirst'),
    t('offers.campaignFirstText'),
    linkButton(path('/campaigns/new'), t('crud.add', { noun: nounOf(campaigns) }), 'main'),
  );

/** Columns whose form values are parsed by their schemas. */
const plainColumns = [
  ...offerTexts,
  ...['active', 'weight', 'language', 'useraction_cta', 'useraction_url', 'adv_pixel_url'],
  ...['wallet_enabled', 'offerwall_enabled'],
];

const readOffer = (fields: Fields): Values => ({
  ...(fields.text('campaign_id') !== '' && { campaign_id: fields.number('campaign_id') }),
  ...readColumns(offers, fields, plainColumns),
});

const noticesOf = (context: PublisherContext, view: View, offer: Offer | undefined): Html =>
  html`${stopNotice(context, view, offer?.stopped)}${warningNotice(warnOfUrls(view))}`;
