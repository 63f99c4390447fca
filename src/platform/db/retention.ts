import type pg from 'pg';

type RetentionDays = { retentionRawDays: number; retentionRollupDays: number; retentionDeliveryDays: number };

/** Deletes what a module keeps no longer. @returns what was deleted, by name (counts) */
export type RetentionStep = (pool: pg.Pool, days: RetentionDays, nowMs: number) => Promise<Record<string, number>>;
