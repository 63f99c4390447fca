import type pg from 'pg';
import type { Logger } from '../../../platform/logger.ts';
import type { Meter } from '../meter.ts';
import type { HealthWatch } from './health.ts';
import { recordHealth } from './health-store.ts';
import { type Settlement, settle } from './settle.ts';
import type { SettlementResult } from './settle-batches.ts';

type Tools = {
  pool: pg.Pool;
  watch: HealthWatch;
  meter: Meter;
  logger: Logger;
  /** Gets what was written. */
  onWritten: (settlements: readonly Settlement[]) => void;
};

/**
 * Writes settlements, and what they say of the health of their endpoints.
 * @returns those that were still under their lease
 */
export async function recordSettlements(
  { pool, watch, meter, logger, onWritten }: Tools,
  settlements: readonly Settlement[],
): Promise<Settlement[]> {
  const written = await settle(pool, settlements);
  onWritten(written);
  const opened = await recordHealth(pool, watch.observe(written)).catch((err) => {
    logger.warn({ err }, 'endpoint health not written');
    return [];
  });
  for (const { endpointId, openUntil } of opened) {
    meter.breakerOpened();
    logger.warn({ endpointId, openUntil }, 'circuit breaker opened');
  }
  return written;
}

/** Measures and logs a settlement. */
export function reportSettlement(
  { meter, logger }: Pick<Tools, 'meter' | 'logger'>,
  settlement: Settlement,
  result: SettlementResult,
): void {
  const { claimed, outcome, attempts, status, errorClass } = settlement;
  meter.attempted(outcome === 'delivered' || outcome === 'endpoint_disabled' ? outcome : (errorClass ?? 'other'));
  if (result === 'lost') meter.leaseLost();
  const { deliveryId, generation, endpointId, publisherId } = claimed;
  const details = { deliveryId, generation, endpointId, publisherId, outcome, attempts, status, errorClass };
  if (result === 'lost') logger.warn(details, 'lease lost before the call ended');
  else if (result === 'late') logger.error(details, 'outcome not written in time');
  else if (outcome === 'delivered' || outcome === 'retry') logger.debug(details, 'attempt ended');
  else logger.warn(details, 'delivery failed');
}
