import type { ExportRows } from '../../platform/user-data.ts';

/** Perks selected in the user's sessions. */
export const exportSelections: ExportRows = async (executor, { days, sessionIds }) => {
  const { rows } = await executor.query(
    `select session_id, selected as campaign_ids, wrapped_at from usp_sessions
    where day = any($1::date[]) and session_id = any($2::uuid[])
    order by session_id`,
    [days, sessionIds],
  );
  return rows;
};
