import type pg from 'pg';
import type { Registry } from 'prom-client';
import type { AlertCheck } from '../alerts/kinds.ts';
import type { Executor } from '../platform/db/pool.ts';
import { hourMs, minuteMs } from '../platform/lib/time.ts';
import { registerGauge } from '../platform/metrics/gauges.ts';

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
  /** Time before which all commits are exported. Null before the first run. */
  exportedUntil: Date | null;
  lagMs: number | null;
  isBehind: boolean;
  /** Why the last attempt failed, or null if it did not fail. */
  failure: { at: Date; error: string } | null;
  /** Latest runs, newest first. */
  runs: RunView[];
};

/** Lag from which an export counts as behind. It is never below an hour, because an hour is exported after its end. */
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

/** Time for which an export must fail before an alert is recorded. Short storage outages then cause no alert. */
const graceMs = 15 * minuteMs;

/** Creates the check for an export that fails or is behind. It records an alert for every publisher. */
export const dataFileCheck = (isEnabled: boolean): AlertCheck => ({
  name: 'data file alerts',
  kinds: ['data_files.failing'],
  findFacts: async (executor, nowMs) => {
    if (!isEnabled) return [];
    const { exportedUntil, isBehind, failure, runs } = await readExportState(executor, nowMs);
    const plannedAt = runs[0]?.plannedAt ?? new Date(nowMs);
    const isFailing = failure !== null && nowMs - plannedAt.getTime() > graceMs;
    if (!isFailing && !isBehind) return [];
    const since = exportedUntil ?? plannedAt;
    const data = { since: since.toISOString(), error: failure?.error.replace(/\.$/, '') ?? null };
    const { rows } = await executor.query<{ id: number }>('select id from publishers order by id');
    return rows.map(({ id }) => ({
      publisherId: id,
      kind: 'data_files.failing',
      subject: 'data files',
      cause: data.since,
      data,
    }));
  },
});

type GaugeDeps = { pool: pg.Pool; isEnabled: boolean; now: () => number };

const maxAgeMs = 15_000;

/** Registers the metrics of the data files (docs/guides/data-files.md). They have no values without DATA_FILES_URL. */
export function registerDataFileMetrics(registry: Registry, { pool, isEnabled, now }: GaugeDeps): void {
  const gauges = [
    {
      name: 'perkwire_data_files_lag_seconds',
      help: 'Age in seconds of the oldest row that may not be in the data files yet. Up to 4,000 when all is well.',
      sql: `select extract(epoch from now() - coalesce(max(planned_at) filter (where confirmed_at is not null),
          min(planned_at)))::float8 as value from data_file_runs having count(*) > 0`,
    },
    {
      name: 'perkwire_data_files_failing',
      help: 'Whether the last attempt to export data files failed (1) or not (0).',
      sql: 'select count(*)::int as value from data_file_runs where error is not null',
    },
  ];
  for (const { sql, ...gauge } of gauges)
    registerGauge(registry, {
      ...gauge,
      read: async () => (isEnabled ? (await pool.query(sql)).rows : []),
      maxAgeMs,
      now,
    });
}
