import { isDeepStrictEqual } from 'node:util';
import { campaignOf, isReviewedKind, materialFields, type ReviewedKind } from '../catalog-admin/approval.ts';
import type { HandedIn, Proposal } from '../management/approval.ts';
import { audit } from '../management/audit.ts';
import type { Values, View } from '../management/resource.ts';
import { type Actor, isOperator, type Work } from '../management/unit-of-work.ts';
import { AppError, type ErrorDetail, notFound } from '../platform/errors.ts';
import { hourMs } from '../platform/lib/time.ts';
import { problem } from '../platform/problem.ts';
import { raiseFacts } from '../webhooks/raise-events.ts';
import { currentRow, fieldOf, fieldsOf, type ReviewedKinds, trySave } from './apply.ts';
import { approveByRule, requireState, requireUnrevised, withdraw } from './decide.ts';
import { type Draft, getDraft, lockDraft, readDraftImage, storeDraftImage } from './draft.ts';

/** Maximum number of pending drafts: per advertiser, and in total for a publisher's own users and keys. */
const maxWaiting = { advertiser: 1000, publisher: 10_000 } as const;
/**
 * Maximum number of pending drafts with an image, per advertiser or for a publisher's own users and keys. An image can
 * be up to 5 MB.
 */
const maxImages = 50;

const maxNoteLength = 2000;

/** Fields that advertisers may propose to change: the material fields, and a few more per resource. */
const proposable: Readonly<Record<ReviewedKind, readonly string[]>> = {
  offers: ['campaign_id', ...materialFields.offers],
  creatives: ['offer_id', ...materialFields.creatives],
  campaigns: [...materialFields.campaigns, 'schedule'],
};

/**
 * Creates a draft for a new row or for a change to a row. Withdraws the same author's earlier draft for that row, and
 * the draft that it revises if that draft is still waiting.
 * @param advertiserId advertiser whose account creates the draft, or null for the publisher's own users
 * @throws AppError the same errors as the change itself; conflict if too many drafts are pending, or if the revised
 * draft cannot be revised any more
 */
export async function propose(
  kinds: ReviewedKinds,
  work: Work,
  proposal: Proposal,
  advertiserId: number | null = null,
): Promise<Draft> {
  const revised = await lockRevised(work, proposal, advertiserId);
  const image = proposal.image ?? (await imageOf(work, revised));
  const { kind, changes, note } = checked({ ...proposal, ...(image && { image }) }, advertiserId !== null);
  const row = { resource: kind, row_id: proposal.rowId, has_picture: image !== undefined };
  const current = await currentRow(kinds, work, row);
  if (advertiserId !== null) await requireOwn(work, kind, changes, current, advertiserId);
  const after = await trySave(kinds, work, row, changes);
  const differing = current === null ? Object.keys(kinds[kind].input.properties) : Object.keys(changes);
  const changed = differing.filter(
    (name) => !isDeepStrictEqual(fieldOf(after, name), current && fieldOf(current, name)),
  );
  if (changed.length === 0) throw invalid([{ path: '/changes', message: problem('changesNothing') }]);
  const campaignId = await campaignOf(kind, work, after, after);
  if (revised?.state === 'waiting') await withdraw(work, String(revised.id));
  await requireRoom(work, advertiserId, row);
  await withdrawEarlier(work, row, advertiserId);
  const id = await insert(work, {
    campaignId,
    advertiserId,
    kind,
    rowId: proposal.rowId,
    note,
    revises: revised?.id ?? null,
    subject: await subjectOf(work, kind, after),
    changes: fieldsOf(after, changed),
    base: current === null ? {} : fieldsOf(current, changed),
  });
  if (image !== undefined) await storeDraftImage(work, id, image);
  const draft = await getDraft(work, String(id));
  const created = { id, campaign_id: campaignId, resource: kind, row_id: proposal.rowId, state: 'waiting' };
  await audit(work, { resource: { name: 'drafts', key: 'id' }, action: 'create', before: null, after: created });
  const decided = await approveByRule(kinds, work, draft);
  if (decided.state === 'waiting')
    await raiseDraftWaiting(work, decided, revised?.state === 'refused' && (await isFirstRevision(work, decided)));
  return decided;
}

/**
 * Locks the draft that a proposal revises, so that it is revised only once.
 * @throws AppError not_found if it does not exist, or if someone else proposed it; conflict if it has another state, or
 * was already revised
 */
async function lockRevised(
  work: Work,
  { revises, resource, rowId }: Proposal,
  advertiserId: number | null,
): Promise<Draft | null> {
  if (revises === undefined) return null;
  // Lock in the same order as proposals that withdraw an earlier draft.
  await lockPublisher(work);
  const draft = await lockDraft(work, String(revises));
  if (draft.advertiser_id !== advertiserId) throw notFound('draft');
  // Advertisers must not learn which of the publisher's users decided.
  requireState(advertiserId === null ? draft : { ...draft, decided_by: null }, ['waiting', 'refused']);
  await requireUnrevised(work, draft);
  if (draft.resource === resource && draft.row_id === rowId) return draft;
  throw invalid([{ path: '/revises', message: problem('draftOfOtherRow') }]);
}

async function imageOf(work: Work, revised: Draft | null): Promise<HandedIn | undefined> {
  const image = revised === null ? null : await readDraftImage(work, revised);
  return image === null || image === 'deleted' ? undefined : image;
}

function checked({ resource, rowId, changes, note = '', image }: Proposal, byAdvertiser: boolean) {
  if (!isReviewedKind(resource))
    throw invalid([
      { path: '/resource', message: problem('oneOf', { choices: Object.keys(materialFields).join(', ') }) },
    ]);
  if (typeof changes !== 'object' || changes === null || Array.isArray(changes))
    throw invalid([{ path: '/changes', message: problem('isObject') }]);
  if (typeof note !== 'string' || note.length > maxNoteLength)
    throw invalid([{ path: '/note', message: problem('noteText', { max: maxNoteLength }) }]);
  const denied = byAdvertiser ? Object.keys(changes).filter((name) => !proposable[resource].includes(name)) : [];
  if (denied.length > 0)
    throw invalid(denied.map((name) => ({ path: `/changes/${name}`, message: problem('publisherSets') })));
  if (image !== undefined && (rowId !== null || resource === 'campaigns'))
    throw invalid([{ path: '/image', message: problem('imageWithNew') }]);
  const imageFields = resource === 'creatives' && image !== undefined ? fieldsOfImage(image, changes) : {};
  return { kind: resource, changes: { ...changes, ...imageFields }, note: note.replaceAll('\0', '') };
}

/** Derives creative fields, such as the size, from the uploaded image. */
function fieldsOfImage({ type, size }: HandedIn, changes: Values): Values {
  const fields: Values = { url: null, type, ...size };
  const wrong = Object.keys(fields).filter((name) => name in changes && changes[name] !== fields[name]);
  if (wrong.length > 0)
    throw invalid(wrong.map((name) => ({ path: `/changes/${name}`, message: problem('saidByImage') })));
  return fields;
}

/** Throws a not-found error for rows that belong to other advertisers. */
async function requireOwn(
  work: Work,
  kind: ReviewedKind,
  changes: Values,
  current: View | null,
  advertiserId: number,
): Promise<void> {
  const unknown = notFound('campaign');
  if (kind === 'campaigns' && current === null) throw invalid([{ path: '/row_id', message: problem('isRequired') }]);
  const parent = { ...current, ...changes };
  if (!Number.isSafeInteger(parent[kind === 'creatives' ? 'offer_id' : 'campaign_id'] ?? current?.id)) throw unknown;
  const campaignId = await campaignOf(kind, work, parent, current);
  const { rowCount } = await work.executor.query(
    `select from campaigns where id = $1 and publisher_id = $2 and advertiser_id = $3 and deleted_at is null`,
    [campaignId, work.publisherId, advertiserId],
  );
  if (rowCount === 0) throw unknown;
}

/** Locks the publisher, so that concurrent proposals can't exceed the maximum number of pending drafts. */
async function lockPublisher({ executor, publisherId }: Work): Promise<void> {
  await executor.query('select from publishers where id = $1 for no key update', [publisherId]);
}

async function requireRoom(
  work: Work,
  advertiserId: number | null,
  { has_picture }: { has_picture: boolean },
): Promise<void> {
  await lockPublisher(work);
  const { executor, publisherId } = work;
  const { rows } = await executor.query<{ count: number }>(
    `select count(*)::integer as count from drafts d
    where publisher_id = $1 and state = 'waiting' and advertiser_id is not distinct from $2
      and (not $3 or exists (select from draft_pictures p where p.draft_id = d.id))`,
    [publisherId, advertiserId, has_picture],
  );
  if (has_picture && (rows[0]?.count ?? 0) >= maxImages)
    throw new AppError('conflict', { message: problem('maxDraftImages', { max: maxImages }) });
  const max = advertiserId === null ? maxWaiting.publisher : maxWaiting.advertiser;
  if ((rows[0]?.count ?? 0) >= max) throw new AppError('conflict', { message: problem('maxDrafts', { max }) });
}

async function withdrawEarlier(
  { executor, publisherId, actor, nowMs }: Work,
  { resource, row_id }: { resource: ReviewedKind; row_id: number | null },
  advertiserId: number | null,
): Promise<void> {
  if (row_id === null) return;
  await executor.query(
    `update drafts set state = 'withdrawn', decided_by = $6, decided_at = $7, updated_at = $7
    where publisher_id = $1 and state = 'waiting' and resource = $2 and row_id = $3 and proposer_kind = $4
      and proposer_id = $5 and advertiser_id is not distinct from $8`,
    [publisherId, resource, row_id, actor.kind, actor.id, nameOf(actor), new Date(nowMs), advertiserId],
  );
}

type NewDraft = {
  campaignId: number;
  advertiserId: number | null;
  kind: ReviewedKind;
  rowId: number | null;
  subject: string;
  changes: Values;
  base: Values;
  note: string;
  revises: number | null;
};

async function insert({ executor, publisherId, actor, nowMs }: Work, draft: NewDraft): Promise<number> {
  const { campaignId, advertiserId, kind, rowId, subject, changes, base, note, revises } = draft;
  const { rows } = await executor.query<{ id: number }>(
    `insert into drafts (publisher_id, campaign_id, advertiser_id, resource, row_id, subject, changes, base, note,
      state, proposer_kind, proposer_id, proposed_by, created_at, updated_at, revises)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'waiting', $10, $11, $12, $13, $13, $14) returning id`,
    [
      ...[publisherId, campaignId, advertiserId, kind, rowId, subject, changes, base, note],
      ...[actor.kind, actor.id, nameOf(actor), new Date(nowMs), revises],
    ],
  );
  return (rows[0] as { id: number }).id;
}

/** Returns the author's display name. Publishers can't see which operator created a draft. */
const nameOf = (actor: Actor): string => (actor.publisherId === null && isOperator(actor) ? 'Operator' : actor.label);

async function subjectOf({ executor }: Work, kind: ReviewedKind, view: View): Promise<string> {
  if (kind === 'campaigns') return String(view.name);
  if (kind === 'offers') return String(view.title || view.short_headline || view.description || '');
  const { rows } = await executor.query<{ title: string }>('select title from offers where id = $1', [view.offer_id]);
  return rows[0]?.title ?? '';
}

/** Whether no earlier draft revises the same draft. An earlier one may have been withdrawn. */
async function isFirstRevision({ executor }: Work, { id, revises }: Draft): Promise<boolean> {
  const { rowCount } = await executor.query('select from drafts where revises = $1 and id <> $2 limit 1', [
    revises,
    id,
  ]);
  return rowCount === 0;
}

/**
 * Raises the `draft.waiting` event, at most once per hour and campaign, because many drafts may be created at once. The
 * first draft that revises a refused one always raises it, because the publisher asked for the revision.
 */
async function raiseDraftWaiting(work: Work, draft: Draft, isAnswer: boolean): Promise<void> {
  const { rows } = await work.executor.query<{ name: string }>('select name from campaigns where id = $1', [
    draft.campaign_id,
  ]);
  const { campaign_id, id, resource, subject, proposed_by } = draft;
  const cause = isAnswer ? `draft ${id}` : String(Math.floor(work.nowMs / hourMs));
  await raiseFacts(work.executor, 'draft.waiting', [
    {
      publisherId: work.publisherId,
      subject: `${campaign_id} ${cause}`,
      data: { campaign_id, name: rows[0]?.name ?? '', draft_id: id, resource, subject, proposed_by },
    },
  ]);
}

const invalid = (details: ErrorDetail[]): AppError => new AppError('invalid_request', { details });
