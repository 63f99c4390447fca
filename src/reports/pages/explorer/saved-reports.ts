import type { Executor } from '../../../platform/db/pool.ts';

/** Saved report. `query` is the query string of its URL. */
export type SavedReport = { id: number; userId: number | null; name: string; query: string };

export const maxNameLength = 80;
export const maxQueryLength = 8000;
/** Maximum number of saved reports per publisher. */
export const maxReports = 100;

export async function listSavedReports(executor: Executor, publisherId: number): Promise<SavedReport[]> {
  const { rows } = await executor.query<{ id: number; user_id: number | null; name: string; query: string }>({
    name: 'list_saved_reports',
    text: 'select id, user_id, name, query from saved_reports where publisher_id = $1 order by name',
    values: [publisherId],
  });
  return rows.map(({ user_id: userId, ...row }) => ({ userId, ...row }));
}

type NewReport = { publisherId: number; userId: number | null; name: string; query: string; mayReplaceAll: boolean };

/**
 * Saves a report. If a report with the same name exists, it is replaced, provided that it belongs to the user or
 * `mayReplaceAll` is set.
 * @returns false if the existing report may not be replaced, or if the publisher has too many reports
 */
export async function saveReport(executor: Executor, report: NewReport, nowMs: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    `insert into saved_reports as s (publisher_id, user_id, name, query, created_at)
    select $1, $2, $3, $4, $5 where (select count(*) from saved_reports where publisher_id = $1) < ${maxReports}
      or exists (select from saved_reports where publisher_id = $1 and name = $3)
    on conflict (publisher_id, name) do update set query = excluded.query where s.user_id = $2 or $6`,
    [report.publisherId, report.userId, report.name, report.query, new Date(nowMs), report.mayReplaceAll],
  );
  return rowCount === 1;
}

/**
 * Removes a report. If `ofUser` is set, only removes it if it belongs to that user.
 * @returns whether a report was removed
 */
export async function removeReport(
  executor: Executor,
  { publisherId, id, ofUser }: { publisherId: number; id: number; ofUser: number | null },
): Promise<boolean> {
  const { rowCount } = await executor.query(
    'delete from saved_reports where publisher_id = $1 and id = $2 and ($3::integer is null or user_id = $3)',
    [publisherId, id, ofUser],
  );
  return rowCount === 1;
}
