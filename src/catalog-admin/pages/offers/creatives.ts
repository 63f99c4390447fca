import type { PublisherContext } from '../../../catalog/pages.ts';
import { ApprovalRequired, withImage } from '../../../management/approval.ts';
import type { Values, View } from '../../../management/resource.ts';
import { createRow } from '../../../management/rows.ts';
import type { Work } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { problem } from '../../../platform/problem.ts';
import { actionButton, badge, card, csrfField, onceField } from '../../../shell/components.ts';
import { type Fields, hasRole, keyIn, reasonOf } from '../../../shell/context.ts';
import { languageName, unknownLanguageText } from '../../../shell/format.ts';
import { columns, createForm, moreFields } from '../../../shell/forms.ts';
import type { PageResult, Pages, Upload } from '../../../shell/pages.ts';
import { type createImageStore, creativeTypes, imageField, imageTypes, readUpload } from '../../images.ts';
import { createUploadedCreative, creatives } from '../../resources/creatives.ts';
import { offers } from '../../resources/offers.ts';
import type { PageServices } from '../services.ts';

export type Images = ReturnType<typeof createImageStore>;

const creativesPath = ({ path }: PublisherContext, offerId: unknown): string =>
  `${path(`/offers/${offerId}`)}#creatives`;

/** Registers the pages for uploading, ordering and removing an offer's creatives. */
export function registerCreatives(pages: Pages<PublisherContext>, services: PageServices, images: Images): void {
  const { management } = services;

  pages.post('/offers/:key/pictures', 'manager', (context, fields, upload) =>
    saveUpload(services, images, context, fields, upload),
  );

  pages.post('/pictures/:key/primary', 'manager', async (context) => {
    const view = await management.update(context, creatives, keyIn(context), { is_primary: true }, null);
    return { to: creativesPath(context, view.offer_id), done: t('offers.primaryChanged') };
  });

  pages.post('/pictures/:key/remove', 'manager', async (context) => {
    const view = await management.remove(context, creatives, keyIn(context));
    return {
      to: creativesPath(context, view.offer_id),
      done: t('offers.imageRemoved'),
      undo: { to: context.path(`/pictures/${view.id}/restore`) },
    };
  });

  pages.post('/pictures/:key/restore', 'manager', async (context) => {
    const view = await management.restore(context, creatives, keyIn(context));
    return { to: creativesPath(context, view.offer_id), done: t('offers.imageRestored') };
  });
}

async function saveUpload(
  { management }: PageServices,
  images: Images,
  context: PublisherContext,
  fields: Fields,
  upload: Upload | null,
): Promise<PageResult> {
  const offer = await management.get(context, offers, keyIn(context));
  const to = creativesPath(context, offer.id);
  if (upload === null) return { to, failed: t('offers.chooseFile') };
  const language = fields.text('picture_language') || null;
  const wrong = language === null ? null : unknownLanguageText(language);
  if (wrong !== null) return { to, failed: wrong };
  try {
    const image = await readUpload(upload.bytes, upload.declaredType);
    const creative = {
      offer_id: offer.id,
      creative_type: fields.text('creative_type'),
      is_primary: fields.checked('is_primary'),
      language,
    };
    await management.write(context, (work) => createUploadedCreative(work, creative, image, images));
    const { width, height } = image.size;
    return { to, done: t('offers.imageSaved', { width, height }) };
  } catch (err) {
    if (err instanceof ApprovalRequired) {
      const draft = await management.propose(context, err);
      return { to: context.path(`/drafts/${draft.id}`), done: t('drafts.proposed') };
    }
    return { to, failed: t('offers.uploadFailed', { reason: reasonOf(err) }) };
  }
}

/** Renders a card with an offer's creatives and an upload form. */
export async function creativesCard(
  { management }: PageServices,
  context: PublisherContext,
  offer: View,
): Promise<Html> {
  const { rows } = await management.list(context, creatives, { offer_id: String(offer.id), limit: '50' });
  const canEdit = hasRole(context.viewer.user.role, 'manager');
  const list =
    rows.length === 0
      ? html`<p class="hint">${t('offers.noImages')}</p>`
      : html`<ul class="creatives">${rows.map((row) => creativeItem(context, row, canEdit))}</ul>`;
  const upload = moreFields(t('offers.addImage'), uploadForm(context, offer), { isOpen: rows.length === 0 });
  const body = html`${list}${canEdit && upload}`;
  return html`<div id="creatives">${card(t('offers.images'), body, { lead: t('offers.imagesLead') })}</div>`;
}

function creativeItem(context: PublisherContext, row: View, canEdit: boolean): Html {
  const source = row.path === null ? String(row.url) : `${String(row.path)}?width=240`;
  const kind = creativeTypes().find(({ value }) => value === row.creative_type)?.text ?? '';
  return html`
    <li>
      <img src="${source}" alt="${kind}" width="120" loading="lazy">
      <span>${kind}</span>
      <small>${Number(row.width)} × ${Number(row.height)}, ${String(row.type)}</small>
      ${row.is_primary === true && badge(t('offers.primary'), 'info')}
      ${typeof row.language === 'string' && badge(languageName(row.language))}
      ${canEdit && creativeActions(context, row)}
    </li>`;
}

function creativeActions(context: PublisherContext, row: View): Html {
  const path = context.path(`/pictures/${row.id}`);
  const button = { small: true, kind: 'quiet' } as const;
  const remove = { to: `${path}/remove`, text: t('common.remove'), confirm: t('offers.removeImageConfirm') };
  const makePrimary = { to: `${path}/primary`, text: t('offers.makePrimary') };
  return html`
    <div class="actions">
      ${row.is_primary !== true && actionButton(context, { ...button, ...makePrimary })}
      ${actionButton(context, { ...button, ...remove })}
    </div>`;
}

/**
 * Creates an offer and, if a file was chosen, its first image in a single transaction. The API also creates offers
 * without a headline, but a form that lacks one is probably incomplete.
 * @throws AppError invalid_request if the headline is empty; invalid_picture, assigned to the file field;
 * body_too_large
 */
export async function createWithImage(
  { management }: PageServices,
  images: Images,
  context: PublisherContext,
  values: Values,
  upload: Upload | null,
): Promise<View> {
  if (values.title === '')
    throw new AppError('invalid_request', { details: [{ path: '/title', message: problem('empty') }] });
  const image = upload === null ? null : await readUpload(upload.bytes, upload.declaredType);
  return management.write(context, (work) => createOffer(work, images, values, image));
}

/** Creates an offer and its first image, or only the offer if `image` is null. */
export async function createOffer(
  work: Work,
  images: Images,
  values: Values,
  image: Awaited<ReturnType<typeof readUpload>> | null,
): Promise<View> {
  if (image === null) return createRow(offers, work, values);
  const offer = await createRow(offers, work, values).catch(withImage(image));
  await createUploadedCreative(work, { offer_id: offer.id, creative_type: 'offer_image' }, image, images);
  return offer;
}

function uploadForm(context: PublisherContext, offer: View): Html {
  const form = createForm({ creative_type: 'offer_image' });
  const file = html`
    <div class="field">
      <div class="label"><label for="f-image">${t('offers.file')}</label></div>
      <input type="file" id="f-image" name="${imageField}" accept="${imageTypes}" required>
    </div>`;
  return html`
    <form class="form upload" method="post" enctype="multipart/form-data"
      action="${context.path(`/offers/${offer.id}/pictures`)}" data-keep>
      ${csrfField(context.viewer)}${onceField()}
      ${columns([
        file,
        form.select('creative_type', { label: t('offers.imageType'), choices: creativeTypes() }),
        form.input('picture_language', { label: t('offers.imageLanguage'), hint: t('offers.imageLanguageHint') }),
      ])}
      ${form.checkbox('is_primary', { label: t('offers.makePrimary') })}
      <div class="form-end"><button class="button">${t('offers.upload')}</button></div>
    </form>`;
}
