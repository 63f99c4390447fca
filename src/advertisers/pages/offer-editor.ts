import { buildCreativeView } from '../../catalog/types.ts';
import { creativeTypes, firstImageField, imageTypes, readUpload } from '../../catalog-admin/images.ts';
import { advertiserOfferFields, proposableOfferFields } from '../../catalog-admin/offer-form.ts';
import { proposedPreview } from '../../catalog-admin/offer-preview.ts';
import type { DraftDetails } from '../../drafts/details.ts';
import type { HandedIn } from '../../management/approval.ts';
import { readColumns } from '../../management/read-columns.ts';
import type { View } from '../../management/resource.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { card, hiddenField, saveForm } from '../../shell/components.ts';
import { type FieldErrors, type Fields, type FormValues, keyIn, queryText } from '../../shell/context.ts';
import { createForm, fieldGroup, moreFields, sectionIndex } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult, Upload } from '../../shell/pages.ts';
import { ownRows } from '../scope.ts';
import { reviseCampaignPage } from './campaign-form.ts';
import { isRevisable, readDraft } from './drafts.ts';
import {
  keptImage,
  noteField,
  proposalErrors,
  proposeButton,
  proposeDraft,
  revisedField,
  revisedIn,
  revisedNotice,
  revisionCancel,
  revisionHead,
} from './propose.ts';
import type { AdvertiserContext, PageServices } from './services.ts';

type ImageForm = { typed?: FormValues; errors?: FieldErrors; revised?: DraftDetails | null };

/** Renders the page with the form for changes to a live offer, and the form for a new image. */
export async function offerPage(
  services: PageServices,
  context: AdvertiserContext,
  imageForm: ImageForm = {},
): Promise<Page> {
  const { management, kinds } = services;
  const own = ownRows(kinds, context.advertiser);
  const view = await management.get(context, own.offers, keyIn(context));
  const { rows } = await management.list(context, own.creatives, { offer_id: String(view.id), limit: '50' });
  const page = formPage(services, context, { view, campaignId: view.campaign_id, values: view as FormValues });
  const images = html`${rows.length > 0 && imageList(rows)}${imageFields(context, view, imageForm)}`;
  return {
    ...page,
    status: imageForm.errors === undefined ? 200 : 422,
    body: html`${page.body}${card(t('offers.images'), images)}`,
  };
}

export async function newOfferPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const own = ownRows(services.kinds, context.advertiser);
  const campaign = await services.management.get(context, own.campaigns, queryText(context, 'campaign_id'));
  const values = { cta_yes: t('offers.sampleYes'), cta_no: t('offers.sampleNo') };
  return formPage(services, context, { view: null, campaignId: campaign.id, values });
}

/** Renders the page that changes a draft and proposes it again, with its image. */
export async function revisePage(services: PageServices, context: AdvertiserContext): Promise<PageResult> {
  const { management, kinds } = services;
  const own = ownRows(kinds, context.advertiser);
  const revised = await readDraft(services, context);
  const { resource, row_id, campaign_id, changes } = revised.draft;
  if (!isRevisable(revised))
    return { to: context.path(`/drafts/${revised.draft.id}`), failed: t('drafts.decidedAlready') };
  if (resource === 'campaigns') return reviseCampaignPage(services, context, revised);
  if (resource === 'creatives') {
    const offer = await management.get(context, own.offers, String(changes.offer_id));
    return imagePage(context, offer, { typed: changes as FormValues, revised });
  }
  const campaign = await management.get(context, own.campaigns, campaign_id);
  const view = row_id === null ? null : await management.get(context, own.offers, row_id);
  const values = { ...view, ...changes } as FormValues;
  return formPage(services, context, { view, campaignId: campaign.id, values, revised });
}

type OfferForm = {
  /** Live offer, or null for a new one. */
  view: View | null;
  campaignId: unknown;
  values: FormValues;
  errors?: FieldErrors;
  revised?: DraftDetails | null;
};

const withFile = { attributes: html` enctype="multipart/form-data"` };

function formPage(
  services: PageServices,
  context: AdvertiserContext,
  { view, campaignId, values, errors = [], revised = null }: OfferForm,
): Page {
  const form = createForm(values, errors);
  const image = view === null ? html`${keptImage(context, revised)}${firstImageField(form)}` : nothing;
  const fields = html`
    ${advertiserOfferFields(form, image)}
    ${fieldGroup(t('advertiser.message'), noteField(form))}`;
  const hidden = html`${revisedField(revised)}${view === null && hiddenField('campaign_id', String(campaignId))}`;
  const to = context.path(view === null ? '/offers' : `/offers/${view.id}`);
  const options = {
    button: proposeButton(revised),
    once: true,
    ...revisionCancel(context, revised),
    attributes: html`${view === null && withFile.attributes} data-previewed`,
    extra: html`<a class="button to-preview" href="#preview">${t('common.preview')}</a>`,
  };
  const body = html`${form.summary()}${hidden}${fields}`;
  return {
    title: view === null ? t('advertiser.proposeOffer') : String(view.title || view.short_headline || `#${view.id}`),
    lead: t('advertiser.proposeLead'),
    nav: 'advertiser-campaigns',
    trail: [{ text: t('nav.campaigns'), href: context.path(`/campaigns/${campaignId}`) }],
    ...revisionHead(context, revised),
    status: errors.length > 0 ? 422 : 200,
    assets: ['preview.js'],
    body: html`
      ${revisedNotice(revised)}
      <div class="split">
        <div><section class="card">${sectionIndex(fields)}${saveForm(context, to, body, options)}</section></div>
        ${previewOf(services, context, view, revised)}
      </div>`,
  };
}

/** Renders the live preview. */
function previewOf(
  { catalog, publicUrl }: PageServices,
  context: AdvertiserContext,
  view: View | null,
  revised: DraftDetails | null,
): Html {
  const { publishers, offers } = catalog.current();
  const publisher = publishers.get(context.advertiser.publisherId);
  if (publisher === undefined) return nothing;
  const offer = view === null ? undefined : offers.get(Number(view.id));
  const url = `${publicUrl}${context.path(`/drafts/${revised?.draft.id}/picture`)}`;
  const proposed = revised?.draft.has_picture === true ? [{ url, creative_type: 'offer_image' }] : [];
  const creatives = offer?.creatives.map((creative) => buildCreativeView(creative, publicUrl)) ?? proposed;
  const previewed = { id: offer?.id ?? null, advertiserName: context.advertiser.name, creatives, texts: null };
  return proposedPreview(context.path('/preview'), { publisher, publicUrl }, previewed);
}

/** Proposes changes to an offer, or a new offer with its first image, if any. */
export async function proposeOffer(
  services: PageServices,
  context: AdvertiserContext,
  fields: Fields,
  { isNew, upload }: { isNew: boolean; upload: Upload | null },
): Promise<PageResult> {
  const { management, kinds } = services;
  const own = ownRows(kinds, context.advertiser);
  const view = isNew ? null : await management.get(context, own.offers, keyIn(context));
  const revised = await revisedIn(services, context, fields);
  const campaignId = view?.campaign_id ?? fields.number('campaign_id');
  const texts = readColumns(kinds.offers, fields, proposableOfferFields);
  const changes = view === null ? { campaign_id: campaignId, ...texts } : texts;
  const rowId = view === null ? null : Number(view.id);
  const note = fields.text('note');
  if (texts.title === '') {
    const values = { ...texts, note } as FormValues;
    const errors = [{ path: '/title', message: t('apiTexts.empty') }];
    return formPage(services, context, { view, campaignId, errors, values, revised });
  }
  try {
    const image = await imageOf(upload);
    return await proposeDraft(services, context, { resource: 'offers', rowId, changes, note, image }, revised);
  } catch (err) {
    const errors = proposalErrors(err);
    return formPage(services, context, { view, campaignId, errors, values: { ...texts, note } as FormValues, revised });
  }
}

const imageList = (creatives: readonly View[]): Html => html`
  <ul class="creatives">${creatives.map(
    (row) => html`
    <li>
      <img src="${row.path === null ? String(row.url) : `${String(row.path)}?width=240`}" width="120" loading="lazy"
        alt="${typeText(row)}">
      <span>${typeText(row)}</span>
      <small>${Number(row.width)} × ${Number(row.height)}, ${String(row.type)}</small>
    </li>`,
  )}</ul>`;

const typeText = ({ creative_type: type }: View): string =>
  creativeTypes().find(({ value }) => value === type)?.text ?? '';

const imagePage = (context: AdvertiserContext, offer: View, imageForm: ImageForm): Page => ({
  title: t('advertiser.proposePicture'),
  lead: t('advertiser.proposeLead'),
  nav: 'advertiser-campaigns',
  trail: [{ text: String(offer.title || `#${offer.id}`), href: context.path(`/offers/${offer.id}`) }],
  ...revisionHead(context, imageForm.revised ?? null),
  status: imageForm.errors === undefined ? 200 : 422,
  body: html`
    ${revisedNotice(imageForm.revised ?? null)}
    ${card(t('offers.images'), imageFields(context, offer, imageForm))}`,
});

/** Renders the form that proposes an image of an offer. */
function imageFields(context: AdvertiserContext, offer: View, { typed, errors, revised = null }: ImageForm): Html {
  const values = typed ?? { creative_type: 'offer_image', type: 'png', width: '', height: '', url: '' };
  const form = createForm(values, errors);
  const types = ['png', 'jpg', 'webp', 'gif', 'avif'].map((value) => ({ value, text: value }));
  const elsewhere = html`
    ${form.input('url', { label: t('webhooks.url'), type: 'url', hint: t('advertiser.pictureHint') })}
    ${form.select('type', { label: t('drafts.kind'), choices: types })}
    ${form.input('width', { label: t('advertiser.width'), type: 'number', min: 1 })}
    ${form.input('height', { label: t('advertiser.height'), type: 'number', min: 1 })}`;
  const file = html`
    ${keptImage(context, revised)}
    <div class="label"><label for="f-picture">${t('offers.file')}</label></div>
    <input type="file" id="f-picture" name="image" accept="${imageTypes}" aria-describedby="f-picture-hint">
    <p class="hint" id="f-picture-hint">${t('advertiser.fileHint')}</p>`;
  const isElsewhere = (errors !== undefined || revised !== null) && revised?.draft.has_picture !== true;
  const fields = html`
    ${revisedField(revised)}
    ${form.custom('image', t('offers.file'), file)}
    ${form.select('creative_type', { label: t('offers.imageType'), choices: creativeTypes() })}
    ${moreFields(t('advertiser.pictureElsewhere'), elsewhere, { isOpen: isElsewhere })}`;
  const to = context.path(`/offers/${offer.id}/pictures`);
  const button = revised === null ? t('advertiser.proposePicture') : proposeButton(revised);
  return saveForm(context, to, html`${form.summary()}${fields}`, {
    button,
    once: true,
    ...revisionCancel(context, revised),
    ...withFile,
  });
}

/** Proposes an image: the uploaded file, or the image of the revised draft, or the image at the entered URL. */
export async function proposeImage(
  services: PageServices,
  context: AdvertiserContext,
  fields: Fields,
  upload: Upload | null,
): Promise<PageResult> {
  const own = ownRows(services.kinds, context.advertiser);
  const offer = await services.management.get(context, own.offers, keyIn(context));
  const revised = await revisedIn(services, context, fields);
  const creative = { offer_id: offer.id, creative_type: fields.text('creative_type') || 'offer_image' };
  const isUpload = upload !== null || (revised?.draft.has_picture === true && fields.text('url') === '');
  const elsewhere = isUpload
    ? {}
    : {
        url: fields.text('url'),
        type: fields.text('type'),
        width: fields.number('width'),
        height: fields.number('height'),
      };
  try {
    const image = await imageOf(upload);
    const changes = { ...creative, ...elsewhere };
    return await proposeDraft(services, context, { resource: 'creatives', rowId: null, changes, image }, revised);
  } catch (err) {
    const names = ['creative_type', 'url', 'type', 'width', 'height'];
    const typed = Object.fromEntries(names.map((name) => [name, fields.text(name)]));
    const form = { typed, errors: proposalErrors(err), revised };
    return revised === null ? offerPage(services, context, form) : imagePage(context, offer, form);
  }
}

const imageOf = async (upload: Upload | null): Promise<HandedIn | null> =>
  upload === null ? null : readUpload(upload.bytes, upload.declaredType);
