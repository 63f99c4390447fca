import { campaigns } from '../../../catalog/management/campaigns.ts';
import { offers } from '../../../catalog/management/offers.ts';
import type { Offer } from '../../../catalog/snapshot/types.ts';
import { buildCreativeView } from '../../../offers/render/view.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { mayAct } from '../../auth/users.ts';
import { actionButton, badge, emptyState, linkButton } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { crudPages } from '../../shell/crud.ts';
import type { FormBuilder } from '../../shell/forms.ts';
import { choicesOf, keyIn, queryText } from '../../shell/management.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { pictures } from './creatives.ts';
import { explainPages } from './explain.ts';
import { offerPreview, previewPanel } from './preview.ts';

const shownTexts = [
  'title',
  'description',
  'short_headline',
  'short_description',
  'cta_yes',
  'cta_no',
  'mini_text',
  'loyalty_requirements',
] as const;

/** Copy variants of campaigns, with a preview of what the user will see while it is typed. */
export function offerPages(app: App, tools: Tools): void {
  const { store, deps } = tools;
  const { publicUrl } = deps.config;
  const pages = publisherPages(app, tools);
  const images = pictures(pages, tools);
  explainPages(pages, tools);
  const stored = (id: unknown): Offer | undefined => deps.catalog.current().offers.get(Number(id));

  const campaignChoices = (context: PublisherContext, chosen: unknown) => choicesOf(store, context, campaigns, chosen);

  function pictureOf(id: unknown): Html {
    const offer = stored(id);
    const creative = offer?.creatives.find(({ isPrimary }) => isPrimary) ?? offer?.creatives[0];
    if (creative === undefined)
      return html`<span class="thumb" aria-hidden="true">${[...(offer?.campaign.advertiserName ?? '·')][0] ?? '·'}</span>`;
    const url = creative.url ?? `/images/${creative.id}.${creative.type}?width=88&aspect_ratio=1:1`;
    return html`<img class="thumb" src="${url}" alt="" width="44" height="44" loading="lazy">`;
  }

  crudPages(pages, store, {
    resource: offers,
    path: '/offers',
    nav: 'offers',
    icon: 'offers',
    title: 'Offers',
    lead: 'What users see. Each offer is one way to say what its campaign promotes.',
    one: 'an offer',
    writes: 'manager',
    assets: ['preview.js'],
    filterNames: ['campaign_id', 'active'],
    filters: async (
      context,
    ) => html`<div class="field"><div class="label"><label for="f-campaign">Campaign</label></div><select id="f-campaign" name="campaign_id"><option value="">All</option>${(await campaignChoices(context, queryText(context, 'campaign_id'))).map(({ value, text }) => html`<option value="${value}"${value === queryText(context, 'campaign_id') && html` selected`}>${text}</option>`)}</select></div>
<div class="field"><div class="label"><label for="f-state">State</label></div><select id="f-state" name="active"><option value="">All</option>${[['true', 'Active'] as const, ['false', 'Paused'] as const].map(([value, text]) => html`<option value="${value}"${value === queryText(context, 'active') && html` selected`}>${text}</option>`)}</select></div>`,
    columns: [
      { text: 'Offer' },
      { text: 'Campaign' },
      { text: 'Weight', numeric: true },
      { text: 'State' },
      { text: 'Actions', hidden: true },
    ],
    cells: (context, row) => {
      const campaign = stored(row.id)?.campaign;
      return [
        html`<div class="with-picture">${pictureOf(row.id)}<span><a href="${context.path(`/offers/${row.id}`)}"><strong>${nameOf(row)}</strong></a><small>${campaign?.advertiserName ?? ''} · no. ${Number(row.id)}</small></span></div>`,
        campaign === undefined
          ? '–'
          : html`<a href="${context.path(`/campaigns/${campaign.id}`)}">${campaign.name}</a>`,
        Number(row.weight),
        row.active !== true
          ? badge('Paused', 'warn')
          : campaign?.active === false
            ? badge('Campaign paused', 'warn')
            : badge('Active', 'good'),
        html`<div class="row-actions">${linkButton(context.path(`/offers/${row.id}/why`), 'Why?', 'quiet')}${pauseButton(context, row.id, row.active === true)}</div>`,
      ];
    },
    empty: {
      title: 'No offers yet',
      text: 'An offer is the copy and the picture users see. It belongs to a campaign.',
    },
    nameOf,
    blocked: async (context) =>
      (await campaignChoices(context, '')).length > 0
        ? null
        : emptyState(
            'campaigns',
            'A campaign comes first',
            'It says where the offer leads and who sees it.',
            linkButton(context.path('/campaigns/new'), 'Add a campaign', 'main'),
          ),
    initial: (context) => ({
      campaign_id: queryText(context, 'campaign_id'),
      cta_yes: 'Yes, please',
      cta_no: 'No, thanks',
    }),
    read: (fields) => ({
      ...(fields.text('campaign_id') !== '' && { campaign_id: fields.number('campaign_id') }),
      ...Object.fromEntries(shownTexts.map((name) => [name, fields.text(name)])),
      active: fields.checked('active'),
      weight: fields.number('weight'),
      terms_and_conditions: fields.text('terms_and_conditions'),
      useraction_cta: fields.text('useraction_cta') || null,
      useraction_url: fields.text('useraction_url') || null,
      adv_pixel_url: fields.text('adv_pixel_url'),
      wallet_enabled: fields.checked('wallet_enabled'),
      offerwall_enabled: fields.checked('offerwall_enabled'),
    }),
    fields: async (form, context, editing) =>
      html`${editing.view === null ? form.select('campaign_id', { label: 'Campaign', choices: await campaignChoices(context, editing.values.campaign_id) }) : nothing}${offerFields(form)}`,
    beside: ({ publisher, path }, { view }) => {
      const offer = stored(view?.id);
      const pictures = (offer?.creatives ?? []).map((creative) => buildCreativeView(creative, publicUrl));
      const theme = publisher.defaultTheme;
      const advertiserName = offer?.campaign.advertiserName ?? 'Your advertiser';
      return previewPanel(
        path('/preview'),
        offerPreview({ publisher, theme, publicUrl }, { offerId: offer?.id ?? null, advertiserName, pictures }),
      );
    },
    afterCreate: ({ path }, view) => ({
      to: `${path(`/offers/${view.id}`)}#pictures`,
      done: 'The offer is saved. Next: its picture.',
    }),
    actions: ({ path }, view) => linkButton(path(`/offers/${view.id}/why`), 'Why is this not shown?'),
    below: (context, view) => images.card(context, view),
  });

  pages.post('/offers/:key/active', 'manager', async (context, fields) => {
    const active = fields.text('active') === 'yes';
    const view = await store.update(context, offers, keyIn(context), { active }, null);
    return {
      to: fields.text('back') === 'list' ? context.path('/offers') : context.path(`/offers/${view.id}`),
      done: `${nameOf(view)} is ${active ? 'active' : 'paused'}.`,
    };
  });
}

const nameOf = (row: { [name: string]: unknown }): string =>
  String(row.title || row.short_headline || `Offer ${row.id}`);

function pauseButton(context: PublisherContext, id: unknown, active: boolean): Html {
  if (!mayAct(context.viewer.user.role, 'manager')) return nothing;
  return actionButton(context, {
    to: context.path(`/offers/${id}/active`),
    text: active ? 'Pause' : 'Resume',
    small: true,
    values: { active: active ? 'no' : 'yes', back: 'list' },
  });
}

/** Limits and ideals: docs/interface.md#text-limits. */
function offerFields(form: FormBuilder): Html {
  return html`<fieldset class="group first"><legend>Copy</legend>
${form.input('title', { label: 'Headline', max: 90, ideal: 40, hint: html`May hold <code>{{first_name|there}}</code>.` })}
${form.area('description', { label: 'Description', max: 220, ideal: 140 })}
<div class="columns">${form.input('cta_yes', { label: 'Yes button', max: 25, ideal: 20 })}${form.input('cta_no', { label: 'No button', max: 25, ideal: 20 })}</div></fieldset>
<fieldset class="group"><legend>For small formats</legend>
${form.input('short_headline', { label: 'Short headline', max: 60, ideal: 40 })}
${form.area('short_description', { label: 'Short description', max: 140, rows: 2 })}</fieldset>
<fieldset class="group"><legend>Small print</legend>
${form.input('mini_text', { label: 'Disclaimer', max: 160, hint: 'Avoid unless necessary.' })}
${form.area('terms_and_conditions', { label: 'Terms and conditions', rows: 4, hint: 'HTML. What is not harmless is taken out when it is saved.' })}
${form.input('loyalty_requirements', { label: 'What a user must do for the reward', max: 160 })}</fieldset>
<fieldset class="group"><legend>Delivery</legend>
${form.check('active', { label: 'Active' })}
<div class="columns">${form.input('weight', { label: 'Weight', type: 'number', min: 0, hint: 'Among the offers of its campaign, higher first.' })}${form.input('adv_pixel_url', { label: 'Advertiser’s impression URL', type: 'url', placeholder: 'https://' })}</div>
${form.check('wallet_enabled', { label: 'Can be saved for later' })}${form.check('offerwall_enabled', { label: 'Shown on the offerwall' })}
<div class="columns">${form.input('useraction_cta', { label: 'Further action' })}${form.input('useraction_url', { label: 'Its URL', type: 'url', placeholder: 'https://' })}</div></fieldset>`;
}
