import type { ExportRows } from '../../platform/user-data.ts';

/** Tracking events of the user's sessions. */
export const exportEvents: ExportRows = async (executor, { days, sessionIds }) => {
  const { rows } = await executor.query(
    `select session_id, offer_id, campaign_id, kind, at, suspicious from events
    where day = any($1::date[]) and session_id = any($2::uuid[])
    order by session_id, at`,
    [days, sessionIds],
  );
  return rows;
};
