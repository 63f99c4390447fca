import type pg from 'pg';

type RetentionDays = { retentionRawDays: number; retentionRollupDays: number; retentionDeliveryDays: number };

/**
 * Deletes a module's expired data.
 * @returns the number of deleted rows, by name
 */
export type RetentionStep = (pool: pg.Pool, days: RetentionDays, nowMs: number) => Promise<Record<string, number>>;
