import { Type } from '@sinclair/typebox';
import { withImage } from '../../management/approval.ts';
import { audit } from '../../management/audit.ts';
import {
  checkLanguage,
  checkUrls,
  flag,
  httpsUrl,
  languageTag,
  withCanonicalLanguage,
} from '../../management/fields.ts';
import { idSchema, orNull, type Resource, removal, stamps, type Values, type View } from '../../management/resource.ts';
import { columnsOf, createRow, viewOf } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { requireApproval } from '../approval.ts';
import type { ImageStore } from '../images/image-store.ts';
import { saveOriginal, type Upload } from '../images.ts';

const imageFields = ['url', 'type', 'width', 'height'] as const;
const side = Type.Integer({ minimum: 1, maximum: 20_000, description: 'Size in pixels.' });

/**
 * Creative resource: either an uploaded image, which the service measures, or the URL of an external image with its
 * stated size.
 */
export const creatives: Resource = {
  name: 'creatives',
  noun: 'creative',
  schemaName: 'CatalogueCreative',
  table: 'creatives',
  key: 'id',
  within: { campaign: '(select campaign_id from offers where id = offer_id)' },
  permission: 'offers/management',
  input: Type.Object(
    {
      offer_id: idSchema,
      creative_type: Type.Union([Type.Literal('icon_image'), Type.Literal('offer_image'), Type.Literal('hero_image')], {
        default: 'offer_image',
        description: 'Type of the image. Icon and offer images are square; hero images are wide.',
      }),
      is_primary: flag(
        false,
        'Whether the image is used where only one fits. The first image of an offer becomes primary automatically.',
      ),
      url: orNull(httpsUrl(), { description: 'URL of an external image, or `null` for an uploaded one (see `path`).' }),
      language: orNull(languageTag(), {
        default: null,
        description:
          'BCP 47 tag of the language that the image is for. `null` for users without an image of this type in ' +
          'their language.',
      }),
      type: Type.Union(['png', 'jpg', 'webp', 'gif', 'avif'].map((type) => Type.Literal(type))),
      width: side,
      height: side,
    },
    { additionalProperties: false },
  ),
  readOnly: {
    path: orNull(Type.String(), {
      description:
        'Path of an uploaded image on this service; query parameters resize it. `null` for an external image.',
    }),
    user_id: Type.Integer({ description: 'ID of the user who uploaded the image, or 0 for a key.' }),
    ...stamps,
    ...removal,
  },
  scope: () => 'offer_id in (select id from offers where publisher_id = $1 and deleted_at is null)',
  expressions: () => ({ path: "case when url is null then '/images/' || id || '.' || type end" }),
  removedAt: 'deleted_at',
  fixed: ['offer_id'],
  references: {
    offer_id: {
      noun: 'offer',
      table: 'offers',
      key: 'id',
      removedAt: 'deleted_at',
      within: { campaign: 'campaign_id' },
    },
  },
  sorts: { id: 'integer', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['offer_id', 'creative_type', 'is_primary', 'type'],
  searched: ['url'],
  check: (values, _work, current) => {
    const wrong = checkLanguage(values);
    if (current !== null && current.url === null)
      return imageFields
        .filter((name) => values[name] !== current[name])
        .map((name) => ({ path: `/${name}`, message: problem('pictureUploaded') }))
        .concat(wrong);
    if (values.url === null) return [{ path: '/url', message: problem('pictureOrUrl') }, ...wrong];
    return [...checkUrls(values, ['url']), ...wrong];
  },
  prepare: withCanonicalLanguage,
  initial: ({ actor }) => ({ user_id: actor.kind === 'user' ? actor.id : 0 }),
  // Lock the offer, so that changes to its creatives are made one at a time.
  beforeLock: async ({ executor, publisherId }, id) => {
    await executor.query(
      `select 1 from offers where id = (select offer_id from creatives where id = $1) and publisher_id = $2
      for no key update`,
      [id, publisherId],
    );
  },
  beforeSave: async (work, values, current) => {
    await requireApproval('creatives', work, values, current);
    if (current === null) {
      await work.executor.query('select 1 from offers where id = $1 for no key update', [values.offer_id]);
      if (!(await hasPrimary(work, values.offer_id))) values.is_primary = true;
    }
    if (values.is_primary === true && current?.is_primary !== true) await unmarkPrimary(work, values.offer_id);
  },
  beforeRemove: async (work, { id, offer_id, is_primary }) => {
    if (is_primary !== true) return;
    await work.executor.query('update creatives set is_primary = false where id = $1', [id]);
    const next = `id = (
      select min(id) from creatives where offer_id = $1 and deleted_at is null and id <> ${Number(id)})`;
    await markPrimary(work, next, offer_id, true);
  },
  afterRestore: async (work, { id, offer_id }) => {
    if (await hasPrimary(work, offer_id)) return;
    await unmarkPrimary(work, offer_id);
    await markPrimary(work, `offer_id = $1 and id = ${Number(id)}`, offer_id, true);
  },
};

/** Creative resource for uploaded images. Type and size are derived from the bytes, and no URL is needed. */
export const uploadedCreatives: Resource = { ...creatives, check: checkLanguage };

/** Fields of an uploaded creative that cannot be derived from the image bytes. */
const uploadFields = ['offer_id', 'creative_type', 'is_primary', 'language'] as const;

/** Stores an uploaded image as a creative of an offer. */
export async function createUploadedCreative(
  work: Work,
  fields: Values,
  upload: Upload,
  store: ImageStore | null,
): Promise<View> {
  const unknown = Object.keys(fields).filter((name) => !(uploadFields as readonly string[]).includes(name));
  if (unknown.length > 0)
    throw new AppError('invalid_request', {
      details: unknown.map((name) => ({ path: `/${name}`, message: problem('unknownHere') })),
    });
  const { bytes, type, size } = upload;
  const row = { ...fields, ...size, type, url: null };
  const view = await createRow(uploadedCreatives, work, row).catch(withImage(upload));
  await saveOriginal(work.executor, store, view.id as number, bytes);
  return view;
}

async function hasPrimary({ executor }: Work, offerId: unknown): Promise<boolean> {
  const { rowCount } = await executor.query(
    'select 1 from creatives where offer_id = $1 and is_primary and deleted_at is null',
    [offerId],
  );
  return rowCount !== 0;
}

/**
 * Unmarks the primary creative of an offer, even if that creative has been removed: the unique index allows only one
 * per offer.
 */
const unmarkPrimary = (work: Work, offerId: unknown): Promise<void> =>
  markPrimary(work, 'offer_id = $1 and is_primary', offerId, false);

async function markPrimary(work: Work, where: string, offerId: unknown, isPrimary: boolean): Promise<void> {
  const { rows } = await work.executor.query<Values>(
    `update creatives set is_primary = $2, updated_at = $3 where ${where} returning ${columnsOf(creatives, work)}`,
    [offerId, isPrimary, new Date(work.nowMs)],
  );
  for (const row of rows) {
    const after = viewOf(row);
    await audit(work, { resource: creatives, action: 'update', before: { ...after, is_primary: !isPrimary }, after });
  }
}
