import type { PublisherContext } from '../../catalog/pages.ts';
import { creativeTypes, firstImageField, imageTypes, readUpload } from '../../catalog-admin/images.ts';
import { advertiserOfferFields, proposableOfferFields } from '../../catalog-admin/offer-form.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { readColumns } from '../../management/read-columns.ts';
import type { Values } from '../../management/resource.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { notice, saveForm } from '../../shell/components.ts';
import { type FieldErrors, type Fields, type FormValues, fieldErrorsOf, keyIn } from '../../shell/context.ts';
import { fieldName } from '../../shell/format.ts';
import { createForm, type FormBuilder, fieldGroup } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult, Upload } from '../../shell/pages.ts';
import type { ReviewedKinds } from '../apply.ts';
import { type DraftDetails, readDetails } from '../details.ts';
import type { Draft } from '../draft.ts';
import { propose } from '../propose.ts';

type Services = { management: ManagementClient; kinds: ReviewedKinds };

/** Fields of an image that is stored elsewhere. For an uploaded image, they follow from the file. */
const imageFields = ['url', 'type', 'width', 'height'] as const;

/** Whether a user of the publisher can change the draft and propose it again. */
export const isRevisable = ({ draft, revisionId }: DraftDetails): boolean =>
  draft.advertiser_id === null && (draft.state === 'waiting' || draft.state === 'refused') && revisionId === null;

const pathOf = (context: PublisherContext): string => context.path(`/drafts/${keyIn(context)}`);

const read = ({ management, kinds }: Services, context: PublisherContext): Promise<DraftDetails> =>
  management.read(context, (work) => readDetails(kinds, work, keyIn(context)));

/** Renders the page on which a user of the publisher changes a draft and proposes it again, with its image. */
export async function revisePage(services: Services, context: PublisherContext): Promise<PageResult> {
  const details = await read(services, context);
  if (!isRevisable(details)) return { to: pathOf(context), failed: t('drafts.decidedAlready') };
  const { draft, current } = details;
  return formPage(context, details, { ...current, ...draft.changes, note: draft.note } as FormValues);
}

function formPage(
  context: PublisherContext,
  details: DraftDetails,
  values: FormValues,
  errors: FieldErrors = [],
): Page {
  const { draft } = details;
  const form = createForm(values, errors);
  const fields = html`
    ${form.summary()}
    ${fieldsOf(context, form, draft)}
    ${fieldGroup(t('drafts.note'), form.textarea('note', { label: t('drafts.note'), rows: 2 }))}`;
  return {
    title: t('drafts.revise'),
    nav: 'drafts',
    trail: [
      { text: t('nav.drafts'), href: context.path('/drafts') },
      { text: draft.subject || `#${draft.id}`, href: pathOf(context) },
    ],
    status: errors.length > 0 ? 422 : 200,
    body: html`
      ${
        draft.reason !== '' &&
        notice(
          'failed',
          html`<p><strong>${t('drafts.refusedBecause')}</strong></p><p class="lines">${draft.reason}</p>`,
        )
      }
      <section class="card">
        ${saveForm(context, `${pathOf(context)}/edit`, fields, {
          button: t('drafts.proposeAgain'),
          cancel: pathOf(context),
          once: true,
          attributes: html` enctype="multipart/form-data"`,
        })}
      </section>`,
  };
}

function fieldsOf(context: PublisherContext, form: FormBuilder, draft: Draft): Html {
  if (draft.resource === 'offers') {
    const image = draft.row_id === null ? html`${keptImage(context, draft)}${firstImageField(form)}` : nothing;
    return advertiserOfferFields(form, image);
  }
  if (draft.resource === 'creatives') return creativeFields(context, form, draft);
  const texts = textFieldsOf(draft);
  return fieldGroup(
    t('drafts.changes'),
    texts.length === 0 ? html`<p class="hint">${t('drafts.onlyNote')}</p>` : nothing,
    ...texts.map((name) => form.textarea(name, { label: fieldName(name), rows: 2 })),
  );
}

/** Names of the proposed values that are strings. Other values are not changed. */
const textFieldsOf = ({ changes }: Draft): string[] =>
  Object.keys(changes).filter((name) => typeof changes[name] === 'string');

/** Renders the image of the draft, which is kept unless the user selects another file. */
const keptImage = (context: PublisherContext, { has_picture: hasPicture }: Draft): Html =>
  hasPicture
    ? html`
      <figure class="kept-image">
        <img src="${pathOf(context)}/picture" alt="${t('offers.images')}">
        <figcaption class="hint">${t('drafts.imageKept')}</figcaption>
      </figure>`
    : nothing;

function creativeFields(context: PublisherContext, form: FormBuilder, draft: Draft): Html {
  const file = html`
    ${keptImage(context, draft)}
    <div class="label"><label for="f-picture">${t('offers.file')}</label></div>
    <input type="file" id="f-picture" name="image" accept="${imageTypes}">`;
  const isElsewhere = !draft.has_picture && typeof draft.changes.url === 'string';
  return html`
    ${draft.row_id === null && form.custom('image', t('offers.file'), file)}
    ${form.select('creative_type', { label: t('offers.imageType'), choices: creativeTypes() })}
    ${isElsewhere && form.input('url', { label: t('webhooks.url'), type: 'url' })}`;
}

/** Returns the proposed values: those of the draft, replaced by the values in the form. */
function changesIn(kinds: ReviewedKinds, draft: Draft, fields: Fields, hasImage: boolean): Values {
  const { resource, changes } = draft;
  if (resource === 'offers') return { ...changes, ...readColumns(kinds.offers, fields, proposableOfferFields) };
  if (resource === 'campaigns')
    return { ...changes, ...Object.fromEntries(textFieldsOf(draft).map((name) => [name, fields.text(name)])) };
  const type = { creative_type: fields.text('creative_type') || changes.creative_type };
  if (!hasImage) return { ...changes, ...type, ...(fields.text('url') !== '' && { url: fields.text('url') }) };
  const others = Object.entries(changes).filter(([name]) => !imageFields.some((field) => field === name));
  return { ...Object.fromEntries(others), ...type };
}

/** Proposes the changed draft, with the uploaded image or that of the draft. */
export async function proposeAgain(
  services: Services,
  context: PublisherContext,
  fields: Fields,
  upload: Upload | null,
): Promise<PageResult> {
  const { management, kinds } = services;
  const details = await read(services, context);
  const { draft } = details;
  if (draft.advertiser_id !== null) return { to: pathOf(context), failed: t('drafts.decidedAlready') };
  const changes = changesIn(kinds, draft, fields, upload !== null || draft.has_picture);
  const note = fields.text('note');
  const refused = (errors: FieldErrors) =>
    formPage(context, details, { ...details.current, ...changes, note } as FormValues, errors);
  if (!isRevisable(details)) return refused([{ path: '/', message: t('drafts.decidedAlready') }]);
  try {
    const image = upload === null ? null : await readUpload(upload.bytes, upload.declaredType);
    const proposed = await management.write(context, (work) =>
      propose(kinds, work, {
        resource: draft.resource,
        rowId: draft.row_id,
        changes,
        note,
        revises: draft.id,
        ...(image !== null && { image }),
      }),
    );
    return { to: context.path(`/drafts/${proposed.id}`), done: t('drafts.proposed') };
  } catch (err) {
    return refused(
      fieldErrorsOf(err).map(({ path, message }) => ({ path: path.replace(/^\/changes(?=\/)/, ''), message })),
    );
  }
}
