import type { Executor } from '../platform/db/pool.ts';
import { hourMs, minuteMs } from '../platform/lib/time.ts';

/** Completed or open run, for operators. */
export type RunView = {
  id: number;
  plannedAt: Date;
  confirmedAt: Date | null;
  attempts: number;
  rows: number | null;
  files: number | null;
  bytes: number | null;
};

/** State of the data files. */
export type ExportState = {
  /** Everything that was committed before this time is exported. Null before the first run. */
  exportedUntil: Date | null;
  lagMs: number | null;
  isBehind: boolean;
  /** Why the last attempt failed, or null if it did not fail. */
  failure: { at: Date; error: string } | null;
  /** Latest runs, newest first. */
  runs: RunView[];
};

/** Lag after which an export counts as behind: an hour is exported when it has ended. */
const behindMs = 2 * hourMs + 15 * minuteMs;

const listedRuns = 24;

type RunRow = {
  id: number;
  planned_at: Date;
  confirmed_at: Date | null;
  attempts: number;
  rows: string | null;
  files: number | null;
  bytes: string | null;
  error: string | null;
  failed_at: Date | null;
};

/** Reads the state of the data files. */
export async function readExportState(executor: Executor, nowMs: number): Promise<ExportState> {
  const { rows } = await executor.query<RunRow>(
    `select id, planned_at, confirmed_at, attempts, rows::text, files, bytes::text, error, failed_at
    from data_file_runs order by id desc limit ${listedRuns}`,
  );
  const exportedUntil = rows.find(({ confirmed_at }) => confirmed_at !== null)?.planned_at ?? null;
  const since = exportedUntil ?? rows[0]?.planned_at ?? null;
  const lagMs = since === null ? null : Math.max(0, nowMs - since.getTime());
  const [last] = rows;
  return {
    exportedUntil,
    lagMs,
    isBehind: lagMs !== null && lagMs > behindMs,
    failure: last?.error == null || last.failed_at === null ? null : { at: last.failed_at, error: last.error },
    runs: rows.map((row) => ({
      id: row.id,
      plannedAt: row.planned_at,
      confirmedAt: row.confirmed_at,
      attempts: row.attempts,
      rows: row.rows === null ? null : Number(row.rows),
      files: row.files,
      bytes: row.bytes === null ? null : Number(row.bytes),
    })),
  };
}
