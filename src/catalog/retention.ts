import { deleteOldIdempotencyKeys } from '../management/idempotency.ts';
import type { RetentionStep } from '../platform/db/retention.ts';

/** Answers to idempotent requests are kept one day. */
export const applyCatalogRetention: RetentionStep = async (pool, _days, nowMs) => ({
  idempotencyKeys: await deleteOldIdempotencyKeys(pool, nowMs),
});
