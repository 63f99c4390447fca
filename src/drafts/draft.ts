import { Type } from '@sinclair/typebox';
import type { ReviewedKind } from '../catalog-admin/approval.ts';
import { urlWarningsOf } from '../catalog-admin/kinds.ts';
import type { HandedIn } from '../management/approval.ts';
import {
  idSchema,
  orNull,
  type Resource,
  stamps,
  timestamp,
  type Values,
  type Warning,
} from '../management/resource.ts';
import { getRow } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import { dayMs } from '../platform/lib/time.ts';

export const draftStates = ['waiting', 'scheduled', 'live', 'refused', 'withdrawn', 'undone'] as const;
export type DraftState = (typeof draftStates)[number];

export type Draft = {
  id: number;
  campaign_id: number;
  advertiser_id: number | null;
  resource: ReviewedKind;
  row_id: number | null;
  subject: string;
  changes: Values;
  base: Values;
  note: string;
  has_picture: boolean;
  revises: number | null;
  state: DraftState;
  reason: string;
  proposed_by: string;
  decided_by: string | null;
  decided_at: string | null;
  live_at: string | null;
  created_at: string;
  updated_at: string;
};

const fields = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });

/**
 * Drafts as a REST resource. It is read-only: approvals and rejections have separate endpoints
 * (docs/reference/management.md#drafts).
 */
export const drafts: Resource = {
  name: 'drafts',
  noun: 'draft',
  table: 'drafts',
  key: 'id',
  permission: 'offers/management',
  within: { campaign: 'campaign_id' },
  input: Type.Object({}),
  readOnly: {
    campaign_id: idSchema,
    advertiser_id: orNull(idSchema, {
      description: 'Advertiser whose account proposed the draft. `null` if the publisher proposed it.',
    }),
    resource: Type.Union(
      ['offers', 'creatives', 'campaigns'].map((kind) => Type.Literal(kind)),
      { description: 'Type of the resource.' },
    ),
    row_id: orNull(idSchema, {
      description: 'ID of the changed or created row. `null` for a new row that is not live yet.',
    }),
    subject: Type.String({ description: 'Title of the offer or name of the campaign.' }),
    changes: fields('Proposed values by field.'),
    base: fields('Values of these fields when the draft was proposed or last compared. Empty for a new row.'),
    note: Type.String({ description: "Author's note." }),
    has_picture: Type.Boolean({
      description:
        'Whether the draft has an uploaded image of a new creative, or the first image of a new offer. The image ' +
        'is stored until the draft is withdrawn, or until 30 days after it went live or was replaced.',
    }),
    revises: orNull(idSchema, {
      description: 'Refused or waiting draft that this draft replaces. `null` for none.',
    }),
    state: Type.Union(
      draftStates.map((state) => Type.Literal(state)),
      {
        description:
          'State of the draft. `scheduled`: approved, and live at `live_at`. `undone`: was live and has been ' +
          'reverted.',
      },
    ),
    reason: Type.String({
      description: 'Reason for the refusal, comment on the approval, or why the draft is pending again.',
    }),
    proposed_by: Type.String({ description: 'Name of the key or e-mail address of the user.' }),
    decided_by: orNull(Type.String(), {
      description: 'Key or user who approved, refused or withdrew the draft. `null` if it is undecided.',
    }),
    decided_at: orNull(timestamp()),
    live_at: orNull(timestamp(), {
      description: 'Time at which the draft goes live. `null` if it goes live when it is approved.',
    }),
    ...stamps,
  },
  expressions: () => ({
    has_picture: "exists (select from draft_pictures p where p.draft_id = drafts.id and p.bytes <> '')",
  }),
  sorts: { id: 'integer', created_at: 'timestamptz', updated_at: 'timestamptz' },
  defaultSort: '-id',
  warn: (draft) => warnOfDraft(draft as Draft),
  filters: ['state', 'resource', 'campaign_id', 'row_id', 'advertiser_id', 'revises'],
  searched: ['subject', 'note'],
};

/** Returns warnings about macros in the URLs of a draft. */
export function warnOfDraft({ resource, changes }: { resource: ReviewedKind; changes: Values }): Warning[] {
  return urlWarningsOf(resource, changes).map(({ path, message }) => ({ path: `/changes${path}`, message }));
}

export const getDraft = async (work: Work, id: string, resource = drafts): Promise<Draft> =>
  (await getRow(resource, work, id)) as Draft;

/** Locks a draft, so that only one decision about it is processed at a time. */
export const lockDraft = async (work: Work, id: string, resource = drafts): Promise<Draft> =>
  (await getRow(resource, work, id, 'for update')) as Draft;

/** Stores the uploaded image of a draft. */
export async function storeDraftImage(
  { executor }: Work,
  draftId: number,
  { bytes, type, size }: HandedIn,
): Promise<void> {
  await executor.query(
    'insert into draft_pictures (draft_id, bytes, type, width, height) values ($1, $2, $3, $4, $5)',
    [...[draftId, bytes, type, size.width, size.height]],
  );
}

/**
 * Returns the uploaded image of a draft, or null if it has none. `deleted` means that the previous release, which
 * deleted images of refused drafts after 30 days, has deleted it.
 */
export async function readDraftImage({ executor }: Work, { id, changes }: Draft): Promise<HandedIn | 'deleted' | null> {
  type DeclaredImage = { type: string; width: number; height: number };
  const { rows } = await executor.query<{ bytes: Buffer } & (DeclaredImage | { type: null })>(
    'select bytes, type, width, height from draft_pictures where draft_id = $1',
    [id],
  );
  if (rows[0] === undefined) return null;
  if (rows[0].bytes.length === 0) return 'deleted';
  const { type, width, height } = rows[0].type === null ? (changes as DeclaredImage) : rows[0];
  return { bytes: rows[0].bytes, type, size: { width, height } };
}

/**
 * Returns the uploaded image of a draft as a file.
 * @throws AppError not_found if the draft has no image
 */
export async function draftImageFile(
  work: Work,
  draft: Draft,
): Promise<{ download: Buffer; type: string; name: string }> {
  const image = await readDraftImage(work, draft);
  if (image === null || image === 'deleted') throw new AppError('not_found');
  const { bytes, type } = image;
  return { download: bytes, type: `image/${type === 'jpg' ? 'jpeg' : type}`, name: `draft-${draft.id}.${type}` };
}

export async function deleteDraftImage({ executor }: Work, { id }: { id: number }): Promise<void> {
  await executor.query('delete from draft_pictures where draft_id = $1', [id]);
}

/** Time for which the image of a decided draft is stored if nobody needs it any more, in milliseconds. */
const imageKeptMs = 30 * dayMs;

/**
 * Deletes images of drafts that went live or were undone, because the offer has them, and of drafts that were proposed
 * again. Without this, a trusted advertiser could store any number of images. The images of refused drafts that can be
 * proposed again are stored as long as the draft.
 */
export async function deleteOldImages(executor: Work['executor'], nowMs: number): Promise<number> {
  const { rowCount } = await executor.query(
    `delete from draft_pictures p using drafts d
    where d.id = p.draft_id and d.decided_at < $1 and (d.state in ('live', 'undone') or d.state = 'refused' and exists (
      select from drafts r where r.revises = d.id and r.state in ('waiting', 'scheduled', 'live')))`,
    [new Date(nowMs - imageKeptMs)],
  );
  return rowCount ?? 0;
}

/** Time for which decided drafts are stored, in milliseconds. */
const keptMs = 400 * dayMs;

export async function deleteOldDrafts(executor: Work['executor'], nowMs: number): Promise<number> {
  const { rowCount } = await executor.query(
    "delete from drafts where state not in ('waiting', 'scheduled') and decided_at < $1",
    [new Date(nowMs - keptMs)],
  );
  return rowCount ?? 0;
}
