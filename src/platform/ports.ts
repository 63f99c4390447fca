import type pg from 'pg';
import type { Config } from '../config.ts';
import type { BatchMeters } from './db/batch.ts';
import type { DatabaseHealth } from './db/health.ts';
import type { Geo } from './geo.ts';
import type { FailureLimit } from './http/failure-limit.ts';
import type { Logger } from './logger.ts';
import type { Mailer } from './mailer.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { SecretBox } from './security/secret-box.ts';
import type { TokenCodec } from './security/tracking-token.ts';
import type { Tracing } from './tracing/tracing.ts';

/** Dependencies of every module; a module adds its own in its `ports.ts`. */
export type PlatformDeps = {
  config: Config;
  pool: pg.Pool;
  /** For batches: a statement that takes longer than COMMIT_TIMEOUT_MS ends its connection. */
  flushPool: pg.Pool;
  dbHealth: DatabaseHealth;
  logger: Logger;
  failures: FailureLimit;
  tokens: TokenCodec;
  secretBox: SecretBox;
  /** null without SMTP_URL. */
  mailer: Mailer | null;
  /** Metrics of this process; shown where METRICS_TOKEN is set. */
  metrics: Metrics;
  batchMeters: BatchMeters;
  tracing: Tracing;
  geo: Geo;
  /** Clock, epoch milliseconds. */
  now: () => number;
};
