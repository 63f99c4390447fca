import type pg from 'pg';
import { registerCatalogMetrics } from '../catalog/metrics.ts';
import type { CatalogStore } from '../catalog/snapshot/store.ts';
import { createFetchMeter } from '../offers/metrics.ts';
import { createBatchMeters } from '../platform/db/batch-meter.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { registerDatabaseMetrics } from '../platform/db/metrics.ts';
import { createMetrics, type MetricsPage } from '../platform/metrics/metrics.ts';
import { registerRollupMetrics } from '../reports/rollup/metrics.ts';
import type { EventLog } from '../tracking/log/event-log.ts';
import { registerEventLogMetrics } from '../tracking/log/metrics.ts';
import { createEventMeter } from '../tracking/metrics.ts';
import { registerWebhookGauges } from '../webhooks/gauges.ts';
import { createDispatcherMetrics } from '../webhooks/metrics.ts';
import { createJobMeter } from './job-meter.ts';

type Measured = {
  isShown: boolean;
  metricsPage: MetricsPage | undefined;
  pool: pg.Pool;
  flushPool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  eventLog: EventLog | null;
  now: () => number;
};

/** The metrics of every room (docs/operations.md#metrics), and what the rooms measure with. */
export function createMeters({ isShown, metricsPage, pool, flushPool, dbHealth, catalog, eventLog, now }: Measured) {
  const metrics = createMetrics({ isShown, pageOf: metricsPage });
  const { registry } = metrics;
  registerDatabaseMetrics(registry, { requests: pool, batches: flushPool }, dbHealth);
  registerCatalogMetrics(registry, catalog, now);
  registerRollupMetrics(registry, pool, now);
  registerWebhookGauges(registry, pool, now);
  registerEventLogMetrics(registry, { pool, eventLog, now });
  return {
    metrics,
    batchMeters: createBatchMeters(registry),
    fetchMeter: createFetchMeter(registry),
    eventMeter: createEventMeter(registry),
    jobMeter: createJobMeter(registry),
    dispatcherMetrics: createDispatcherMetrics(registry),
  };
}
