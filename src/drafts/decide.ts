import { mayPublish } from '../catalog-admin/approval.ts';
import { audit } from '../management/audit.ts';
import type { Values } from '../management/resource.ts';
import { etagOf } from '../management/rows.ts';
import type { Actor, Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import { dayMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { problem } from '../platform/problem.ts';
import { raiseFacts } from '../webhooks/raise-events.ts';
import {
  currentRow,
  DraftConflict,
  differencesOf,
  fieldsOf,
  makeLive,
  type ReviewedKinds,
  revertDraft,
} from './apply.ts';
import { type Draft, type DraftState, deleteDraftImage, lockDraft, readDraftImage } from './draft.ts';
import { requestMails } from './mails.ts';

/** Maximum time in advance for which a draft can be scheduled, in milliseconds. */
const maxAheadMs = 366 * dayMs;

const maxReasonLength = 2000;

/**
 * Options for an approval:
 * - `reason`: comment for the author.
 * - `liveAt`: when the draft goes live (RFC 3339), or null for immediately.
 * - `rowEtag`: version of the row that the reviewer compared with the draft. Needed only if the row has changed since
 *   the draft was created.
 */
export type Approval = { reason?: unknown; liveAt?: unknown; rowEtag?: unknown };

/**
 * Approves a pending draft, which goes live immediately or at the scheduled time. If the draft is already scheduled,
 * only its time and its comment change.
 * @throws AppError conflict if the draft has already been decided; invalid_request; permission_denied
 * @throws DraftConflict if the row has changed since the draft was created
 */
export async function approve(kinds: ReviewedKinds, work: Work, id: string, approval: Approval = {}): Promise<Draft> {
  const reason = readReason(approval.reason ?? '');
  const locked = await lockDraft(work, id);
  await requireMay(work, locked);
  requireState(locked, ['waiting', 'scheduled']);
  const liveAt = readTime(approval.liveAt, work.nowMs);
  const draft = { ...locked, base: await comparedBase(kinds, work, locked, approval.rowEtag) };
  if (liveAt === null) return goLive(kinds, work, draft, { by: work.actor, reason });
  return settle(work, draft, { state: 'scheduled', by: work.actor, reason, liveAt });
}

/**
 * Rejects a draft.
 * @throws AppError invalid_request if no reason is given; conflict; permission_denied
 */
export async function refuse(work: Work, id: string, input: unknown): Promise<Draft> {
  const reason = readReason(input);
  if (reason === '') throw invalidReason();
  const draft = await lockDraft(work, id);
  await requireMay(work, draft);
  requireState(draft, ['waiting', 'scheduled']);
  return settle(work, draft, { state: 'refused', by: work.actor, reason });
}

/**
 * Reads the reason of a decision.
 * @throws AppError invalid_request if it is not a text or too long
 */
function readReason(input: unknown): string {
  if (typeof input !== 'string' || input.length > maxReasonLength) throw invalidReason();
  return input.replaceAll('\0', '').trim();
}

const invalidReason = (): AppError =>
  new AppError('invalid_request', {
    details: [{ path: '/reason', message: problem('reasonText', { max: maxReasonLength }) }],
  });

/** Withdraws a draft. Only its author and users who may approve it can do this. */
export async function withdraw(work: Work, id: string, resource?: Parameters<typeof lockDraft>[2]): Promise<Draft> {
  const draft = await lockDraft(work, id, resource);
  requireState(draft, ['waiting', 'scheduled']);
  return settle(work, draft, { state: 'withdrawn', by: work.actor });
}

/**
 * Undoes the last decision on a draft. Live changes are reverted, and a rejected or scheduled draft becomes pending
 * again.
 * @throws AppError conflict; permission_denied
 * @throws DraftConflict if the live row has been changed since
 */
export async function undo(kinds: ReviewedKinds, work: Work, id: string): Promise<Draft> {
  const draft = await lockDraft(work, id);
  await requireMay(work, draft);
  requireState(draft, ['live', 'refused', 'scheduled']);
  await requireUnrevised(work, draft);
  if (draft.state !== 'live') return settle(work, draft, { state: 'waiting', by: null });
  await revertDraft(kinds, work, draft);
  return settle(work, draft, { state: 'undone', by: work.actor });
}

/**
 * Approves a draft automatically if a rule of the publisher allows it. Drafts of shared campaigns are never approved
 * automatically.
 */
export async function approveByRule(kinds: ReviewedKinds, work: Work, draft: Draft): Promise<Draft> {
  if (draft.advertiser_id === null) return draft;
  const { rows } = await work.executor.query<{ trusted: boolean; dates_approved: boolean }>(
    `select a.trusted, p.dates_approved from advertisers a join publishers p on p.id = a.publisher_id
    where a.id = $1 and not exists (
      select from campaign_publishers s where s.campaign_id = $2 and s.active and s.publisher_id <> p.id)`,
    [draft.advertiser_id, draft.campaign_id],
  );
  const onlyDates = Object.keys(draft.changes).every((name) => name === 'schedule');
  if (rows[0]?.trusted === true) return goLive(kinds, work, draft, { by: ruleActor(work, 'rule: trusted advertiser') });
  if (rows[0]?.dates_approved === true && onlyDates)
    return goLive(kinds, work, draft, { by: ruleActor(work, 'rule: only dates') });
  return draft;
}

/**
 * Applies a scheduled draft when its time comes. If the row has been changed in the meantime, the draft becomes pending
 * again.
 */
export async function goLiveAtItsTime(kinds: ReviewedKinds, work: Work, id: number): Promise<Draft> {
  const draft = await lockDraft(work, String(id));
  if (draft.state !== 'scheduled' || Date.parse(String(draft.live_at)) > work.nowMs) return draft;
  const actor = ruleActor(work, draft.decided_by ?? 'schedule');
  await work.executor.query('savepoint due');
  try {
    await comparedBase(kinds, work, draft, undefined);
    return await goLive(kinds, work, draft, { by: actor, reason: draft.reason });
  } catch (err) {
    if (!(err instanceof AppError) || err.status >= 500) throw err;
    await work.executor.query('rollback to savepoint due');
    const details = (err.details ?? []).map(({ path, message }) => `${path}: ${message}`);
    return settle(work, draft, { state: 'waiting', by: null, reason: [err.message, ...details].join(' ') });
  }
}

const ruleActor = ({ publisherId, actor }: Work, label: string): Actor => ({
  ...actor,
  kind: 'system',
  id: 0,
  label,
  restrictions: null,
  publisherId,
});

type Release = { by: Actor; reason?: string };

async function goLive(kinds: ReviewedKinds, work: Work, draft: Draft, { by, reason = '' }: Release): Promise<Draft> {
  const image = await readDraftImage(work, draft);
  if (image === 'deleted') throw new AppError('conflict', { message: problem('draftImageGone') });
  const { id } = await makeLive(kinds, { ...work, actor: by }, draft, image);
  return settle(work, draft, { state: 'live', by, reason, rowId: id as number });
}

async function requireMay(work: Work, { campaign_id }: Draft): Promise<void> {
  if (await mayPublish(work, campaign_id)) return;
  const message = problem('approvesDrafts');
  throw new AppError('permission_denied', { message });
}

/**
 * Requires that no other draft has replaced this one.
 * @throws AppError conflict
 */
export async function requireUnrevised({ executor }: Work, { id }: Draft): Promise<void> {
  const { rows } = await executor.query<{ id: number }>(
    "select id from drafts where revises = $1 and state in ('waiting', 'scheduled', 'live') limit 1",
    [id],
  );
  if (rows[0] !== undefined)
    throw new AppError('conflict', { message: problem('draftRevised', { id: String(rows[0].id) }) });
}

export function requireState({ state, decided_by }: Draft, allowed: readonly DraftState[]): void {
  if (allowed.includes(state)) return;
  const message =
    decided_by === null ? problem('draftState', { state }) : problem('draftStateBy', { state, by: decided_by });
  throw new AppError('conflict', { message });
}

/**
 * Returns the row values that a draft is compared with: usually those at its creation. If the row has changed since and
 * the reviewer has seen the new version, returns its current values instead.
 * @throws DraftConflict if the reviewer has not seen the current version
 */
async function comparedBase(kinds: ReviewedKinds, work: Work, draft: Draft, rowEtag: unknown): Promise<Values> {
  const current = await currentRow(kinds, work, draft);
  const differences = differencesOf(draft, current);
  if (current === null || differences.length === 0) return draft.base;
  if (rowEtag !== etagOf(current)) throw new DraftConflict(differences);
  return fieldsOf(current, Object.keys(draft.base));
}

function readTime(value: unknown, nowMs: number): Date | null {
  if (value === undefined || value === null) return null;
  const ms = typeof value === 'string' ? timeOf(value) : null;
  if (ms === null || Number.isNaN(ms) || ms > nowMs + maxAheadMs)
    throw new AppError('invalid_request', {
      details: [{ path: '/live_at', message: problem('timeWithinYear') }],
    });
  return ms <= nowMs ? null : new Date(ms);
}

type Settled = { state: DraftState; by: Actor | null; reason?: string; liveAt?: Date; rowId?: number };

async function settle(work: Work, draft: Draft, { state, by, reason = '', liveAt, rowId }: Settled): Promise<Draft> {
  const now = new Date(work.nowMs);
  const decidedBy = by === null ? null : by.publisherId === null ? 'Operator' : by.label;
  await work.executor.query(
    `update drafts set state = $2, reason = $3, decided_by = $4, decided_at = $5, live_at = $6,
      row_id = coalesce($7, row_id), updated_at = $8, base = $9
    where id = $1`,
    [draft.id, state, reason, decidedBy, by === null ? null : now, liveAt ?? null, rowId ?? null, now, draft.base],
  );
  // Other decided drafts keep their image, so that it can be looked at and proposed again. Delete the image of a
  // withdrawn draft, because accounts could otherwise store any number of images.
  if (state === 'withdrawn') await deleteDraftImage(work, draft);
  // No mail for what the author already knows: a rule approved the draft at once, or its scheduled time has come.
  const isExpected = Date.parse(draft.created_at) === work.nowMs || (draft.state === 'scheduled' && state === 'live');
  if (by !== null && state !== 'withdrawn' && !isExpected) await requestMails(work, draft, by);
  const { id, campaign_id, resource, subject } = draft;
  await audit(by === null ? work : { ...work, actor: by }, {
    resource: { name: 'drafts', key: 'id' },
    action: 'update',
    before: { id, state: draft.state, reason: draft.reason },
    after: { id, state, reason },
  });
  const row_id = rowId ?? draft.row_id;
  if (state !== 'waiting')
    await raiseFacts(work.executor, 'draft.decided', [
      {
        publisherId: work.publisherId,
        subject: `draft ${id} ${work.nowMs}`,
        data: { draft_id: id, campaign_id, resource, row_id, subject, state, reason },
      },
    ]);
  const decided_at = by === null ? null : now.toISOString();
  return {
    ...draft,
    state,
    reason,
    row_id,
    decided_by: decidedBy,
    decided_at,
    live_at: liveAt?.toISOString() ?? null,
    updated_at: now.toISOString(),
    has_picture: draft.has_picture && state !== 'withdrawn',
  };
}
