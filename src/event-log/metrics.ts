import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import type { EventLog } from '../catalog/types.ts';
import { registerGauge } from '../platform/metrics/gauges.ts';

type GaugeDeps = { pool: pg.Pool; eventLog: EventLog | null; now: () => number };

const maxAgeMs = 5_000;

/**
 * Registers the metrics of the event log (docs/operations.md#event-log). They have no values if no event log is
 * configured.
 */
export function registerEventLogMetrics(registry: Registry, { pool, eventLog, now }: GaugeDeps): void {
  new Gauge({
    name: 'perkwire_event_log_available',
    help: 'Whether this process writes events to the event log (1) or directly to PostgreSQL (0).',
    registers: [registry],
    aggregator: 'min',
    collect() {
      if (eventLog !== null) this.set(eventLog.isUp() ? 1 : 0);
      else this.remove();
    },
  });
  const gauges = [
    {
      name: 'perkwire_event_log_lag_seconds',
      help: 'Age in seconds of the oldest event that may not be stored yet, by event log partition. Up to 2 when idle.',
      labelName: 'partition',
      sql: `select partition::text as label, extract(epoch from now() - stored_until)::float8 as value
        from event_log_positions where stream_created is not null`,
    },
    {
      name: 'perkwire_event_log_rejects',
      help: 'Number of event log messages that PostgreSQL rejected. Must be 0.',
      sql: 'select count(*)::int as value from event_log_rejects',
    },
  ];
  for (const { sql, ...gauge } of gauges)
    registerGauge(registry, { ...gauge, read: async () => (await pool.query(sql)).rows, maxAgeMs, now });
}
