import { Type } from '@sinclair/typebox';
import type { ReviewedKind } from '../catalog/approval.ts';
import { idSchema, orNull, type Resource, stamps, timestamp, type Values } from '../management/resource.ts';
import { getRow } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
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

/** Drafts as a kind of row that is only read; calls of their own decide (docs/interface.md#drafts). */
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
    advertiser_id: orNull(idSchema, { description: "Whose account proposed it; null: the publisher's own." }),
    resource: Type.Union(
      ['offers', 'creatives', 'campaigns'].map((kind) => Type.Literal(kind)),
      { description: 'Kind of the row.' },
    ),
    row_id: orNull(idSchema, { description: 'The row that changes or, once it is live, was made; null: a new one.' }),
    subject: Type.String({ description: 'Title of the offer, name of the campaign.' }),
    changes: fields('The fields as they are proposed.'),
    base: fields('These fields as they were when it was proposed; empty: a new row.'),
    note: Type.String({ description: 'What its author says of it.' }),
    state: Type.Union(
      draftStates.map((state) => Type.Literal(state)),
      { description: 'scheduled: approved, and live at `live_at`. undone: was live, and taken back.' },
    ),
    reason: Type.String({ description: 'Why it was refused, or waits again.' }),
    proposed_by: Type.String({ description: 'Name of the key, e-mail address of the user.' }),
    decided_by: orNull(Type.String(), { description: 'Who approved, refused or withdrew it; null: nobody yet.' }),
    decided_at: orNull(timestamp()),
    live_at: orNull(timestamp(), { description: 'When it goes live; null: with its approval.' }),
    ...stamps,
  },
  sorts: { id: 'integer', created_at: 'timestamptz', updated_at: 'timestamptz' },
  defaultSort: '-id',
  filters: ['state', 'resource', 'campaign_id', 'row_id', 'advertiser_id'],
  searched: ['subject', 'note'],
};

export const getDraft = async (work: Work, id: string, resource = drafts): Promise<Draft> =>
  (await getRow(resource, work, id)) as Draft;

/** Who decides about a draft waits for who is deciding about it. */
export const lockDraft = async (work: Work, id: string, resource = drafts): Promise<Draft> =>
  (await getRow(resource, work, id, 'for update')) as Draft;

/** How long drafts that were decided are kept (milliseconds). */
const keptMs = 400 * dayMs;

export async function deleteOldDrafts(executor: Work['executor'], nowMs: number): Promise<number> {
  const { rowCount } = await executor.query(
    "delete from drafts where state not in ('waiting', 'scheduled') and decided_at < $1",
    [new Date(nowMs - keptMs)],
  );
  return rowCount ?? 0;
}
