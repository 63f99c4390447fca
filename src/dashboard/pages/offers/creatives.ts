import { createImageStore } from '../../../catalog/images/store.ts';
import { readUpload } from '../../../catalog/images/upload.ts';
import { createUploadedCreative, creatives } from '../../../catalog/management/creatives.ts';
import { offers } from '../../../catalog/management/offers.ts';
import type { View } from '../../../catalog/management/resource.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { mayAct } from '../../auth/users.ts';
import { actionButton, badge, card } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { createForm, csrfField, problemsOf } from '../../shell/forms.ts';
import { actorOf, keyIn, publisherOf } from '../../shell/management.ts';
import type { Pages, Tools } from '../../shell/pages.ts';

const kinds = [
  { value: 'offer_image', text: 'Offer – square' },
  { value: 'hero_image', text: 'Hero – wide' },
  { value: 'icon_image', text: 'Icon – square, small' },
];

export type Pictures = {
  /** The pictures of an offer, with what changes them. */
  card: (context: PublisherContext, offer: View) => Promise<Html>;
};

/** Pictures of an offer: uploaded here, checked by their content and measured. */
export function pictures(pages: Pages<PublisherContext>, { store, deps }: Tools): Pictures {
  const images = createImageStore(deps.config.imageStore);
  const back = (context: PublisherContext, offerId: unknown): string =>
    `${context.path(`/offers/${offerId}`)}#pictures`;

  pages.post('/offers/:key/pictures', 'manager', async (context, fields, upload) => {
    const offer = await store.get(context, offers, keyIn(context));
    const to = back(context, offer.id);
    if (upload === null) return { to, failed: 'Choose a file first.' };
    try {
      const picture = await readUpload(upload.bytes, upload.declaredType);
      const given = {
        offer_id: offer.id,
        creative_type: fields.text('creative_type'),
        is_primary: fields.checked('is_primary'),
      };
      await store.write(actorOf(context), publisherOf(context), (work) =>
        createUploadedCreative(work, given, picture, images),
      );
      return { to, done: `The picture is saved: ${picture.size.width} by ${picture.size.height} pixels.` };
    } catch (err) {
      const [problem] = problemsOf(err);
      return { to, failed: `Not taken: the picture ${problem?.message ?? 'cannot be used'}.` };
    }
  });

  pages.post('/pictures/:key/primary', 'manager', async (context) => {
    const view = await store.update(context, creatives, keyIn(context), { is_primary: true }, null);
    return { to: back(context, view.offer_id), done: 'This picture comes first now.' };
  });

  pages.post('/pictures/:key/remove', 'manager', async (context) => {
    const view = await store.remove(context, creatives, keyIn(context));
    return { to: back(context, view.offer_id), done: 'The picture is removed.' };
  });

  return {
    card: async (context, offer) => {
      const { rows } = await store.list(context, creatives, { offer_id: String(offer.id), limit: '50' });
      const canEdit = mayAct(context.viewer.user.role, 'manager');
      return html`<div id="pictures">${card(
        'Pictures',
        html`${rows.length === 0 ? html`<p class="hint">None yet. Offers with a picture are seen more.</p>` : html`<ul class="pictures">${rows.map((row) => item(context, row, canEdit))}</ul>`}${canEdit ? uploadForm(context, offer) : nothing}`,
        { lead: 'PNG, JPEG, WebP or SVG, up to 5 MB. They are resized for each place they are shown.' },
      )}</div>`;
    },
  };
}

function item(context: PublisherContext, row: View, canEdit: boolean): Html {
  const source = row.path === null ? String(row.url) : `${String(row.path)}?width=240`;
  const kind = kinds.find(({ value }) => value === row.creative_type)?.text ?? '';
  return html`<li><img src="${source}" alt="${kind}" width="120" loading="lazy"><span>${kind}</span><small>${Number(row.width)} × ${Number(row.height)}, ${String(row.type)}</small>${row.is_primary === true ? badge('First', 'info') : nothing}${
    canEdit
      ? html`<div class="actions">${row.is_primary === true ? nothing : actionButton(context, { to: context.path(`/pictures/${row.id}/primary`), text: 'Put first', small: true, kind: 'quiet' })}${actionButton(context, { to: context.path(`/pictures/${row.id}/remove`), text: 'Remove', small: true, kind: 'quiet', confirm: 'The picture is no longer sent with the offer.' })}</div>`
      : nothing
  }</li>`;
}

function uploadForm(context: PublisherContext, offer: View): Html {
  const form = createForm({ creative_type: 'offer_image' });
  return html`<form class="form upload" method="post" enctype="multipart/form-data" action="${context.path(`/offers/${offer.id}/pictures`)}">${csrfField(context.viewer)}<div class="columns"><div class="field"><div class="label"><label for="f-image">File</label></div><input type="file" id="f-image" name="image" accept="image/png,image/jpeg,image/webp,image/svg+xml" required></div>${form.select('creative_type', { label: 'Kind', choices: kinds })}</div>${form.check('is_primary', { label: 'Put it first' })}<div class="form-end"><button class="button">Upload</button></div></form>`;
}
