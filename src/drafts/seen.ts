import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import type { DraftState } from './draft.ts';

/** User who is notified of decisions: on an advertiser's drafts, or on the user's own drafts for a publisher. */
export type DraftReader = { userId: number } & ({ advertiserId: number } | { publisherId: number });

/** Decision on a draft that its author has not seen. */
export type NewDecision = { id: number; subject: string; state: DraftState };

/** Maximum age of a decision that is marked as new, in milliseconds. */
const newForMs = 30 * dayMs;

/**
 * SQL condition for whether a draft `d` was decided, other than by a rule when it was proposed, and user $2 has not
 * seen the decision. $1 is the ID of the advertiser or publisher, and $3 the time of the oldest new decision.
 *
 * For the drafts of an advertiser, decisions before the user joined are not new. For the drafts that a user proposed
 * for a publisher, the user's own decisions are not new.
 */
const isNewFor = (reader: DraftReader): string => `d.state in ('scheduled', 'live', 'refused', 'undone')
  and d.decided_at > d.created_at and d.decided_at > $3
  and ${
    'advertiserId' in reader
      ? `d.advertiser_id = $1 and d.decided_at > (
        select max(m.joined_at) from memberships m where m.user_id = $2 and m.advertiser_id = $1 and not m.disabled)`
      : `d.publisher_id = $1 and d.advertiser_id is null and d.proposer_kind = 'user' and d.proposer_id = $2
        and d.decided_by is distinct from (select u.email from users u where u.id = $2)`
  }
  and not exists (
    select from draft_views v where v.draft_id = d.id and v.user_id = $2 and v.seen_at >= d.decided_at)`;

const ownerOf = (reader: DraftReader): number => ('advertiserId' in reader ? reader.advertiserId : reader.publisherId);

/** Returns the newest decisions on a user's drafts that the user has not seen. */
export async function listNewDecisions(executor: Executor, reader: DraftReader, nowMs: number): Promise<NewDecision[]> {
  const { rows } = await executor.query<NewDecision>(
    `select d.id, d.subject, d.state from drafts d where ${isNewFor(reader)} order by d.decided_at desc limit 20`,
    [ownerOf(reader), reader.userId, new Date(nowMs - newForMs)],
  );
  return rows;
}

/** Returns the number of decisions that a user has not seen. Counts up to 100. */
export async function countNewDecisions(executor: Executor, reader: DraftReader, nowMs: number): Promise<number> {
  const { rows } = await executor.query<{ count: number }>({
    name: `count_new_decisions ${'advertiserId' in reader ? 'advertiser' : 'publisher'}`,
    text: `select count(*)::integer as count from (select from drafts d where ${isNewFor(reader)} limit 100) decided`,
    values: [ownerOf(reader), reader.userId, new Date(nowMs - newForMs)],
  });
  return rows[0]?.count ?? 0;
}

/**
 * Marks decisions as seen by a user.
 * @returns the IDs of the drafts whose decisions were new
 */
export async function markSeen(
  executor: Executor,
  reader: DraftReader,
  draftIds: readonly number[],
  nowMs: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await executor.query<{ draft_id: number }>(
    `insert into draft_views as s (draft_id, user_id, seen_at)
    select d.id, $2, $5 from drafts d where d.id = any($4) and ${isNewFor(reader)}
    on conflict (draft_id, user_id) do update set seen_at = greatest(s.seen_at, excluded.seen_at)
    returning draft_id`,
    [ownerOf(reader), reader.userId, new Date(nowMs - newForMs), draftIds, new Date(nowMs)],
  );
  return new Set(rows.map(({ draft_id }) => draft_id));
}
