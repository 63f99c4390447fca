import type pg from 'pg';
import { type Executor, isDatabaseUnavailable } from '../../../platform/db/pool.ts';
import type { Logger } from '../../../platform/logger.ts';
import { leaseGraceMs } from '../leases.ts';
import type { Meter } from '../meter.ts';
import { createThrottle } from '../throttle.ts';
import { type HealthWatch, noteDisablingAttempts, recordHealth } from './health.ts';
import { holdsBack, type Settlement, settle } from './settle.ts';

type Tools = {
  pool: pg.Pool;
  watch: HealthWatch;
  meter: Meter;
  logger: Logger;
  /** Called with the settlements that were stored. */
  onWritten: (settlements: readonly Settlement[]) => void;
};

/**
 * Stores settlements and updates the health of their endpoints.
 * @returns the settlements whose lease was still valid
 */
export async function recordSettlements(
  { pool, watch, meter, logger, onWritten }: Tools,
  settlements: readonly Settlement[],
): Promise<Settlement[]> {
  await noteDisablingAttempts(pool, settlements);
  const written = await settle(pool, settlements);
  onWritten(written);
  await recordTransformations(pool, written).catch((err) =>
    logger.warn({ err }, 'writing transformation state failed'),
  );
  const opened = await recordHealth(pool, watch.observe(written)).catch((err) => {
    logger.warn({ err }, 'writing endpoint health failed');
    return [];
  });
  for (const { endpointId, openUntil } of opened) {
    meter.breakerOpened();
    logger.warn({ endpointId, openUntil }, 'circuit breaker opened');
  }
  return written;
}

/**
 * Stores for which endpoints the transformation has failed, and for which it succeeds again. Endpoints without a
 * transformation, and those whose transformation works, cost nothing. As for failed calls, only the key of the attempt
 * is stored, because the error may quote the payload.
 */
async function recordTransformations(executor: Executor, settlements: readonly Settlement[]): Promise<void> {
  const changes = new Map<number, Settlement>();
  for (const settlement of settlements) {
    const { claimed, errorClass } = settlement;
    if (claimed.transformation === null || errorClass === 'local') continue;
    if (errorClass === 'transformation' || claimed.transformationFailing) changes.set(claimed.endpointId, settlement);
  }
  if (changes.size === 0) return;
  const latest = [...changes.values()];
  await executor.query(
    `with changed as materialized (
      select h.endpoint_id, c.failed, c.delivery_id, c.generation
      from unnest($1::int[], $2::bool[], $3::uuid[], $4::int[]) as c (endpoint_id, failed, delivery_id, generation)
      join endpoint_health h on h.endpoint_id = c.endpoint_id
      order by h.endpoint_id for update of h
    )
    update endpoint_health h set
      transformation_failed_at = case when c.failed then coalesce(h.transformation_failed_at, now()) end,
      transformation_failed_delivery_id = case when c.failed then c.delivery_id end,
      transformation_failed_generation = case when c.failed then c.generation end
    from changed c where h.endpoint_id = c.endpoint_id`,
    [
      latest.map(({ claimed }) => claimed.endpointId),
      latest.map(({ errorClass }) => errorClass === 'transformation'),
      latest.map(({ claimed }) => claimed.deliveryId),
      latest.map(({ claimed }) => claimed.generation),
    ],
  );
}

/** Records a settlement in the metrics and the log. */
export function reportSettlement(
  { meter, logger }: { meter: Meter; logger: Logger },
  settlement: Settlement,
  result: SettlementResult,
): void {
  const { claimed, outcome, attempts, status, errorClass } = settlement;
  meter.attempted(outcome === 'delivered' || outcome === 'endpoint_disabled' ? outcome : (errorClass ?? 'other'));
  if (result === 'lost') meter.leaseLost();
  const { deliveryId, generation, endpointId, publisherId } = claimed;
  const details = { deliveryId, generation, endpointId, publisherId, outcome, attempts, status, errorClass };
  if (result === 'lost') logger.warn(details, 'lease lost before webhook call finished');
  else if (result === 'late') logger.error(details, 'webhook outcome not written in time');
  else if (outcome === 'delivered' || outcome === 'retry') logger.debug(details, 'webhook attempt finished');
  else logger.warn(details, 'webhook delivery failed');
}

/** Maximum number of settlements per statement. */
const maxBatch = 200;
const retryMs = 200;
/**
 * Minimum interval between batches, in milliseconds. A batch takes about 200 µs of CPU time in PostgreSQL even if it
 * consists of a single settlement. The interval is skipped for a settlement that holds back other deliveries, and when
 * `fullBatch` settlements are waiting.
 */
const writeIntervalMs = 10;
const fullBatch = 50;

type Entry = { settlement: Settlement; giveUpAtMs: number };

/**
 * Result of storing a settlement:
 * - `written`: the settlement was stored.
 * - `lost`: another worker had taken over the delivery, so nothing was stored.
 * - `late`: the writer gave up. Another worker will take over the delivery.
 */
export type SettlementResult = 'written' | 'lost' | 'late';

export type SettlementWriter = {
  /** Adds the outcome of an attempt to a batch, and retries until it is stored. */
  add: (settlement: Settlement) => void;
  /** Resolves when all settlements have been stored or given up. */
  drain: () => Promise<void>;
};

type SettlementWriterOptions = {
  /**
   * Atomically stores settlements for deliveries of the same day.
   * @returns the settlements whose lease was still valid
   */
  write: (settlements: readonly Settlement[]) => Promise<readonly Settlement[]>;
  /** Called once for every settlement. */
  onDone: (settlement: Settlement, result: SettlementResult) => void;
  logger: Logger;
  now: () => number;
  /** Monotonic clock, in milliseconds. */
  clock: () => number;
  /** Whether other workers wait for the settlements, because they count this worker's leases. */
  isAwaited: () => boolean;
};

/**
 * Creates a writer with group commit. A batch is written immediately, unless one has just been written. Settlements
 * that arrive in the meantime form the next batch.
 * - If a batch fails because the database is unavailable, it is retried until it succeeds. Its outcomes remain valid as
 *   long as no other worker has taken over the deliveries.
 * - If a batch fails for another reason, its settlements are written one by one, so that a single failure does not
 *   delay the others. If a settlement keeps failing, the writer gives up some seconds after the deadline, when the
 *   lease is no longer renewed.
 */
export function createSettlementWriter(options: SettlementWriterOptions): SettlementWriter {
  const { write, onDone, logger, now, clock, isAwaited } = options;
  const throttle = createThrottle(() => (isAwaited() ? 0 : writeIntervalMs), clock);
  const waiting: Entry[] = [];
  let running: Promise<void> | null = null;

  /**
   * Writes a batch.
   * @returns the entries that could not be written
   */
  async function writeBatch(batch: Entry[]): Promise<Entry[]> {
    const settlements = batch.map((entry) => entry.settlement);
    try {
      const written = new Set(await write(settlements));
      for (const settlement of settlements) onDone(settlement, written.has(settlement) ? 'written' : 'lost');
      return [];
    } catch (err) {
      logger.debug({ err, count: batch.length }, 'writing settlements failed; will retry');
      if (isDatabaseUnavailable(err))
        return batch.map(({ settlement }) => ({ settlement, giveUpAtMs: now() + leaseGraceMs }));
      if (batch.length === 1) return batch;
      const unwritten: Entry[] = [];
      for (const entry of batch) unwritten.push(...(await writeBatch([entry])));
      return unwritten;
    }
  }

  function isWorthRetrying(entry: Entry): boolean {
    if (now() < entry.giveUpAtMs) return true;
    onDone(entry.settlement, 'late');
    return false;
  }

  /**
   * Removes the next batch from the queue. It contains the first settlement and all others for deliveries of the same
   * day, which is nearly always the whole queue.
   */
  function dequeueBatch(): Entry[] {
    const day = waiting[0]?.settlement.claimed.day;
    const batch: Entry[] = [];
    const others: Entry[] = [];
    for (const entry of waiting.splice(0, maxBatch))
      (entry.settlement.claimed.day === day ? batch : others).push(entry);
    waiting.unshift(...others);
    return batch;
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      await throttle.wait();
      const failed = await writeBatch(dequeueBatch());
      if (failed.length === 0) continue;
      waiting.unshift(...failed.filter(isWorthRetrying));
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
    running = null;
  }

  return {
    add: (settlement) => {
      waiting.push({ settlement, giveUpAtMs: now() + settlement.claimed.deadlineMs + leaseGraceMs });
      running ??= run();
      if (holdsBack(settlement) || waiting.length >= fullBatch) throttle.skip();
    },
    drain: async () => {
      throttle.skip();
      while (running !== null) await running;
    },
  };
}
