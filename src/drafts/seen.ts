import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';

/** User of an advertiser account. */
export type DraftReader = { advertiserId: number; userId: number };

/** Maximum age of a decision that is marked as new, in milliseconds. */
const newForMs = 30 * dayMs;

/**
 * SQL condition for whether a draft `d` of advertiser $1 was decided, other than by a rule when it was proposed, and
 * user $2 has not seen it since. Decisions before the user joined are not new. $3 is the time of the oldest new
 * decision.
 */
const isNew = `d.advertiser_id = $1 and d.state in ('scheduled', 'live', 'refused', 'undone')
  and d.decided_at > d.created_at and d.decided_at > $3
  and d.decided_at > (
    select max(m.joined_at) from memberships m where m.user_id = $2 and m.advertiser_id = $1 and not m.disabled)
  and not exists (
    select from draft_views v where v.draft_id = d.id and v.user_id = $2 and v.seen_at >= d.decided_at)`;

/** Returns the number of decisions that a user has not seen. Counts up to 100. */
export async function countNewDecisions(executor: Executor, reader: DraftReader, nowMs: number): Promise<number> {
  const { rows } = await executor.query<{ count: number }>({
    name: 'count_new_decisions',
    text: `select count(*)::integer as count from (select from drafts d where ${isNew} limit 100) decided`,
    values: [reader.advertiserId, reader.userId, new Date(nowMs - newForMs)],
  });
  return rows[0]?.count ?? 0;
}

/**
 * Marks decisions as seen by a user.
 * @returns the IDs of the drafts whose decisions were new
 */
export async function markSeen(
  executor: Executor,
  { advertiserId, userId }: DraftReader,
  draftIds: readonly number[],
  nowMs: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await executor.query<{ draft_id: number }>(
    `insert into draft_views as s (draft_id, user_id, seen_at)
    select d.id, $2, $5 from drafts d where d.id = any($4) and ${isNew}
    on conflict (draft_id, user_id) do update set seen_at = greatest(s.seen_at, excluded.seen_at)
    returning draft_id`,
    [advertiserId, userId, new Date(nowMs - newForMs), draftIds, new Date(nowMs)],
  );
  return new Set(rows.map(({ draft_id }) => draft_id));
}
