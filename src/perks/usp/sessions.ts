import type { MacroValues } from '../../offers/render/macros.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';

/** A fetch-offers session with its selection. Everything but `selected` and `wrappedAt` is fixed by the fetch. */
export type UspSession = {
  id: string;
  publisherId: number;
  pubUserId: string | null;
  /** In the order shown; the same positions as `campaignIds`. */
  offerIds: readonly number[];
  campaignIds: readonly number[];
  /** The values that the copy shown was filled with. */
  macros: MacroValues;
  dev: boolean;
  /** Whether User Selected Perks was on for this answer. */
  usp: boolean;
  /** Campaign ids selected before the first change. */
  initial: readonly number[];
  selected: readonly number[];
  /** null: open. */
  wrappedAt: Date | null;
};

export type SelectionChange = { selected: readonly number[]; unselected: readonly number[] };

type SessionRow = {
  pub_user_id: string | null;
  offer_ids: number[];
  campaign_ids: number[];
  macros: Record<string, string> | null;
  dev: boolean;
  usp: boolean;
  usp_check_all: boolean;
  selected: number[] | null;
  wrapped_at: Date | null;
};

/** The publisher's session of that id, or null. The row of the selection exists only after the first change. */
export async function findUspSession(executor: Executor, publisherId: number, id: string): Promise<UspSession | null> {
  const { rows } = await executor.query<SessionRow>({
    name: 'find_usp_session',
    text: `select s.pub_user_id, s.offer_ids, s.campaign_ids, s.macros, s.dev, s.usp, s.usp_check_all,
  u.selected, u.wrapped_at
from sessions s left join usp_sessions u on u.day = s.day and u.session_id = s.id
where s.day = $1::date and s.id = $2::uuid and s.publisher_id = $3`,
    values: [dayOfUuid7(id), id, publisherId],
  });
  const [row] = rows;
  if (row === undefined) return null;
  const initial = row.usp_check_all ? row.campaign_ids : [];
  return {
    id,
    publisherId,
    pubUserId: row.pub_user_id,
    offerIds: row.offer_ids,
    campaignIds: row.campaign_ids,
    macros: row.macros ?? {},
    dev: row.dev,
    usp: row.usp,
    initial,
    selected: row.selected ?? initial,
    wrappedAt: row.wrapped_at,
  };
}

/** The selection after a change to `before`, an SQL expression. */
const changed = (before: string): string => `array(
  select id from unnest($4::integer[]) with ordinality as shown (id, position)
  where (id = any(${before}) or id = any($6::integer[])) and id <> all($7::integer[]) order by position)`;

/**
 * Applies a change to the stored selection in one atomic statement, so that parallel changes are never lost.
 * @returns the selection after it; null when the session is wrapped
 */
export async function changeSelection(
  executor: Executor,
  session: UspSession,
  change: SelectionChange,
): Promise<number[] | null> {
  const { id, publisherId, campaignIds, initial } = session;
  const { rows } = await executor.query<{ selected: number[] }>({
    name: 'change_usp_selection',
    text: `insert into usp_sessions (day, session_id, publisher_id, selected)
values ($1::date, $2::uuid, $3, ${changed('$5::integer[]')})
on conflict (day, session_id) do update set selected = ${changed('usp_sessions.selected')}
where usp_sessions.wrapped_at is null
returning selected`,
    values: [dayOfUuid7(id), id, publisherId, campaignIds, initial, change.selected, change.unselected],
  });
  return rows[0]?.selected ?? null;
}

/**
 * Wraps a session and keeps its row locked to the end of the transaction: of parallel wraps, one gets an answer.
 * @returns the final selection; null when the session was wrapped already
 */
export async function markWrapped(executor: Executor, session: UspSession, nowMs: number): Promise<number[] | null> {
  const { rows } = await executor.query<{ selected: number[] }>({
    name: 'mark_usp_wrapped',
    text: `insert into usp_sessions (day, session_id, publisher_id, selected, wrapped_at)
values ($1::date, $2::uuid, $3, $4::integer[], $5::timestamptz)
on conflict (day, session_id) do update set wrapped_at = excluded.wrapped_at
where usp_sessions.wrapped_at is null
returning selected`,
    values: [dayOfUuid7(session.id), session.id, session.publisherId, session.initial, new Date(nowMs)],
  });
  return rows[0]?.selected ?? null;
}
