import type pg from 'pg';
import type { Config } from '../../config.ts';

type RetentionDays = Pick<Config, 'retentionRawDays' | 'retentionRollupDays' | 'retentionDeliveryDays'>;

/** Deletes what a module keeps no longer. @returns what was deleted, by name (counts) */
export type RetentionStep = (pool: pg.Pool, days: RetentionDays, nowMs: number) => Promise<Record<string, number>>;
