import type pg from 'pg';
import type { Registry } from 'prom-client';
import { registerGauge } from '../platform/metrics/gauges.ts';

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
