import { creativeTypes, firstImageField, imageTypes, readUpload } from '../../catalog-admin/images.ts';
import type { HandedIn, Proposal } from '../../management/approval.ts';
import type { Values, View } from '../../management/resource.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { card, hiddenField, saveForm, table } from '../../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  type FormValues,
  fieldErrorsOf,
  keyIn,
  queryText,
} from '../../shell/context.ts';
import { editedInstant, fieldName, instantToLocal } from '../../shell/format.ts';
import { createForm, moreFields } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult, Upload } from '../../shell/pages.ts';
import { ownRows } from '../scope.ts';
import { type AdvertiserContext, type PageServices, zoneOf } from './services.ts';

const shortTexts = [
  'title',
  'short_headline',
  'cta_yes',
  'cta_no',
  'useraction_cta',
  'useraction_url',
  'adv_pixel_url',
];
const longTexts = [
  ...['description', 'short_description', 'mini_text', 'loyalty_requirements', 'terms_and_conditions'],
] as const;
/** Form fields that are stored as null when left empty. */
const nullable = new Set(['useraction_cta', 'useraction_url']);

const noteField = (form: ReturnType<typeof createForm>): Html =>
  form.textarea('note', { label: t('drafts.note'), rows: 2, hint: t('advertiser.noteHint') });

const button = () => ({ button: t('advertiser.propose') });
const withFile = { attributes: html` enctype="multipart/form-data"` };

type Zone = { timeZone: string };

export const datesOf = (view: View): { start_at?: string; end_at?: string } =>
  (view.rules as { schedule?: { start_at?: string; end_at?: string } }).schedule ?? {};

type Form = { typed?: FormValues; errors?: FieldErrors };

export function campaignForm(context: AdvertiserContext, view: View, zone: Zone, { typed, errors }: Form = {}): Html {
  const { start_at = '', end_at = '' } = datesOf(view);
  const local = (at: string): string => instantToLocal(at, zone.timeZone);
  const stored = { ...(view as FormValues), start_at: local(start_at), end_at: local(end_at), note: '' };
  const form = createForm(typed ?? stored, errors);
  return saveForm(
    context,
    context.path(`/campaigns/${view.id}`),
    html`
      ${form.summary()}
      ${form.input('landing_url', { label: t('campaigns.landingPage'), type: 'url', required: true })}
      ${form.textarea('offer_description', { label: t('campaigns.fullDescription'), rows: 3 })}
      ${form.input('start_at', {
        label: t('advertiser.from'),
        type: 'datetime-local',
        hint: t('campaigns.startHint', { zone: zone.timeZone }),
      })}
      ${form.input('end_at', {
        label: t('advertiser.until'),
        type: 'datetime-local',
        hint: t('advertiser.untilHint', { zone: zone.timeZone }),
      })}
      ${noteField(form)}`,
    button(),
  );
}

/** Converts an entered date to a time. Returns null if the date is empty. */
const dateOf = (typed: string, stored: string, { timeZone }: Zone): string | null =>
  editedInstant(typed, stored, timeZone) || null;

const withErrorsOfForm = (errors: FieldErrors): FieldErrors =>
  errors.map(({ path, message }) => ({
    path: path.replace(/^\/(changes|rules\/schedule|schedule)(?=\/)/, ''),
    message,
  }));

/** Proposes changes to a campaign. */
export async function proposeCampaign(
  services: PageServices,
  context: AdvertiserContext,
  fields: Fields,
): Promise<PageResult> {
  const view = await services.management.get(
    context,
    ownRows(services.kinds, context.advertiser).campaigns,
    keyIn(context),
  );
  const zone = zoneOf(services, context);
  const { start_at = '', end_at = '' } = datesOf(view);
  const dates = { start_at: fields.text('start_at'), end_at: fields.text('end_at') };
  const changes = {
    landing_url: fields.text('landing_url'),
    offer_description: fields.text('offer_description'),
    schedule: { start_at: dateOf(dates.start_at, start_at, zone), end_at: dateOf(dates.end_at, end_at, zone) },
  };
  try {
    return await proposed(services, context, {
      resource: 'campaigns',
      rowId: Number(view.id),
      changes,
      note: fields.text('note'),
    });
  } catch (err) {
    const errors = withErrorsOfForm(fieldErrorsOf(err));
    const { landing_url, offer_description } = changes;
    const typed = { landing_url, offer_description, ...dates, note: fields.text('note') };
    return {
      title: String(view.name),
      nav: 'advertiser-campaigns',
      trail: [{ text: t('nav.campaigns'), href: context.path('/campaigns') }],
      status: 422,
      body: card(t('advertiser.proposeChange'), campaignForm(context, view, zone, { typed, errors })),
    };
  }
}

type OfferForm = { view: View | null; campaignId: unknown; typed?: FormValues; errors?: FieldErrors };

/** Renders the page with the form for a new offer or for changes to a live offer. */
export async function offerPage(
  services: PageServices,
  context: AdvertiserContext,
  imageForm: Form = {},
): Promise<Page> {
  const { management, kinds } = services;
  const own = ownRows(kinds, context.advertiser);
  const view = await management.get(context, own.offers, keyIn(context));
  const creatives = await management.list(context, own.creatives, { offer_id: String(view.id), limit: '50' });
  const page = formPage(context, { view, campaignId: view.campaign_id });
  const status = imageForm.errors === undefined ? 200 : 422;
  return { ...page, status, body: html`${page.body}${imageCard(context, view, creatives.rows, imageForm)}` };
}

export async function newOfferPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const own = ownRows(services.kinds, context.advertiser);
  const campaign = await services.management.get(context, own.campaigns, queryText(context, 'campaign_id'));
  const typed = { cta_yes: t('offers.sampleYes'), cta_no: t('offers.sampleNo') };
  return formPage(context, { view: null, campaignId: campaign.id, typed });
}

function formPage(context: AdvertiserContext, { view, campaignId, typed, errors = [] }: OfferForm): Page {
  const form = createForm(typed ?? (view as FormValues), errors);
  const body = html`
    ${form.summary()}
    ${view === null ? hiddenField('campaign_id', String(campaignId)) : nothing}
    ${shortTexts.map((name) => form.input(name, { label: fieldName(name) }))}
    ${longTexts.map((name) => form.textarea(name, { label: fieldName(name), rows: 3 }))}
    ${view === null ? firstImageField(form) : nothing}
    ${noteField(form)}`;
  const to = context.path(view === null ? '/offers' : `/offers/${view.id}`);
  const options = { ...button(), ...(view === null && withFile) };
  return {
    title: view === null ? t('advertiser.proposeOffer') : String(view.title || view.short_headline || `#${view.id}`),
    lead: t('advertiser.proposeLead'),
    nav: 'advertiser-campaigns',
    trail: [{ text: t('nav.campaigns'), href: context.path(`/campaigns/${campaignId}`) }],
    status: errors.length > 0 ? 422 : 200,
    body: html`<section class="card">${saveForm(context, to, body, options)}</section>`,
  };
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
  const campaignId = view?.campaign_id ?? fields.number('campaign_id');
  const texts: Values = Object.fromEntries(
    [...shortTexts, ...longTexts].map((name) => [name, fields.text(name) || (nullable.has(name) ? null : '')]),
  );
  const changes = view === null ? { campaign_id: campaignId, ...texts } : texts;
  const rowId = view === null ? null : Number(view.id);
  try {
    const proposal = { resource: 'offers', rowId, changes, note: fields.text('note') };
    return await proposed(services, context, { ...proposal, ...(await imageOf(upload)) });
  } catch (err) {
    const errors = withErrorsOfForm(fieldErrorsOf(err));
    return formPage(context, {
      view,
      campaignId,
      errors,
      typed: { ...texts, note: fields.text('note') } as FormValues,
    });
  }
}

function imageCard(context: AdvertiserContext, offer: View, creatives: readonly View[], { typed, errors }: Form): Html {
  const form = createForm(
    typed ?? { creative_type: 'offer_image', type: 'png', width: '', height: '', url: '' },
    errors,
  );
  const list = table(
    t('offers.images'),
    [{ text: t('offers.images') }, { text: t('drafts.kind') }],
    creatives.map((row) => [
      html`<img src="${row.path === null ? String(row.url) : `${String(row.path)}?width=240`}" alt="" width="120"
        loading="lazy">`,
      `${row.width} × ${row.height}, ${row.type}`,
    ]),
  );
  const types = ['png', 'jpg', 'webp', 'gif', 'avif'].map((value) => ({ value, text: value }));
  const elsewhere = html`
    ${form.input('url', { label: t('webhooks.url'), type: 'url', hint: t('advertiser.pictureHint') })}
    ${form.select('type', { label: t('drafts.kind'), choices: types })}
    ${form.input('width', { label: t('advertiser.width'), type: 'number', min: 1 })}
    ${form.input('height', { label: t('advertiser.height'), type: 'number', min: 1 })}`;
  const file = html`
    <div class="label"><label for="f-picture">${t('offers.file')}</label></div>
    <input type="file" id="f-picture" name="image" accept="${imageTypes}" aria-describedby="f-picture-hint">
    <p class="hint" id="f-picture-hint">${t('advertiser.fileHint')}</p>`;
  const fields = html`
    ${form.custom('image', t('offers.file'), file)}
    ${form.select('creative_type', { label: t('offers.imageType'), choices: creativeTypes() })}
    ${moreFields(t('advertiser.pictureElsewhere'), elsewhere, { isOpen: typed !== undefined })}`;
  const to = context.path(`/offers/${offer.id}/pictures`);
  const options = { button: t('advertiser.proposePicture'), ...withFile };
  return card(
    t('offers.images'),
    html`${creatives.length > 0 && list}${saveForm(context, to, html`${form.summary()}${fields}`, options)}`,
  );
}

/** Proposes an image. Uses the uploaded file, or the image URL if there is no file. */
export async function proposeImage(
  services: PageServices,
  context: AdvertiserContext,
  fields: Fields,
  upload: Upload | null,
): Promise<PageResult> {
  const own = ownRows(services.kinds, context.advertiser);
  const offer = await services.management.get(context, own.offers, keyIn(context));
  const row = { offer_id: offer.id, creative_type: fields.text('creative_type') || 'offer_image' };
  try {
    const elsewhere = upload === null && {
      url: fields.text('url'),
      type: fields.text('type'),
      width: fields.number('width'),
      height: fields.number('height'),
    };
    const proposal = { resource: 'creatives', rowId: null, changes: { ...row, ...elsewhere } };
    return await proposed(services, context, { ...proposal, ...(await imageOf(upload)) });
  } catch (err) {
    const errors = withErrorsOfForm(fieldErrorsOf(err));
    const names = ['creative_type', 'url', 'type', 'width', 'height'];
    const typed = Object.fromEntries(names.map((name) => [name, fields.text(name)]));
    return offerPage(services, context, { typed, errors });
  }
}

const imageOf = async (upload: Upload | null): Promise<{ image?: HandedIn }> =>
  upload === null ? {} : { image: await readUpload(upload.bytes, upload.declaredType) };

async function proposed(
  { management, drafts }: PageServices,
  context: AdvertiserContext,
  proposal: Proposal,
): Promise<PageResult> {
  const { advertiser } = context;
  const draft = await management.write(context, (work) => drafts.propose(work, proposal, advertiser.id));
  return {
    to: context.path(`/drafts/${draft.id}`),
    done: t(draft.state === 'live' ? 'advertiser.liveAtOnce' : 'advertiser.proposed'),
  };
}
