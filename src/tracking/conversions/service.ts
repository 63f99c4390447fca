import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { openConversionSecret } from '../../catalog/conversion-secret.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { newUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { type Delivery, deliveriesOf, insertDeliveries, notifyWorkers } from '../../webhooks/outbox.ts';
import { type Booking, insertBookings, markUnbilledBookings, unbilled } from '../bookings.ts';
import { createClickIdCodec } from '../clicks/click-id.ts';
import type { EventMeter } from '../event-rows.ts';
import { areCounted, countBookings } from './count-caps.ts';
import { type Decision, decide, type NewBooking, type QueuedReport } from './decide.ts';
import { type ConvertedClick, findClicks, type Lookup } from './find-clicks.ts';
import { bookingPostback, postbackEvent } from './postback.ts';
import type { ConversionReport } from './request.ts';

/** Result of a conversion report. A repeated report returns `duplicate` with the first booking and changes nothing. */
export type ReportResult = { message: 'recorded' | 'duplicate'; booking: Booking | null };

export type ConversionService = {
  /**
   * Books a conversion or void and creates its postback, in one transaction. Resolves after the commit.
   * @throws AppError `unavailable`, and the errors of `decide`
   */
  record: (report: ConversionReport, trace: Trace | null) => Promise<ReportResult>;
  drain: () => Promise<void>;
};

export type ConversionDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  config: Config;
  secretBox: SecretBox;
  batchMeters: BatchMeters;
  eventMeter: EventMeter;
  /**
   * Returns the time, in epoch milliseconds, up to which all acknowledged events have been stored. With an event log,
   * this time may lag behind.
   */
  eventsStoredUntil: () => number;
  now: () => number;
};

/**
 * First and last delay between repeated lookups of a click that may still be in the event log, in milliseconds. Each
 * delay is twice the previous one, so the total wait is less than twice the last delay.
 */
const [firstPauseMs, lastPauseMs] = [50, 3_200];
/** Maximum lag of the event log at which a report still waits for its click, in milliseconds. */
const lateMs = 5_000;

/** Maximum number of reports per transaction. */
const maxItems = 128;

export function createConversionService(deps: ConversionDeps): ConversionService {
  const { dbHealth, config, now, eventsStoredUntil } = deps;
  const clickIds = createClickIdCodec(config.tokenKeys);
  const hashes = createUserKeys(config.userPepper, config.earlierPeppers);
  const batcher = createBatcher<QueuedReport, Decision>({
    write: (queued) => recordBatch(deps, queued),
    dbHealth,
    maxItems,
    meter: deps.batchMeters('conversions'),
    traceOf: ({ trace }) => trace,
  });

  /**
   * Records a report. If its click is not found, waits until all events that were already in the event log have been
   * stored. Without an event log, all events are already stored.
   */
  async function recordWhenStored(queued: QueuedReport): Promise<Decision> {
    const arrivedMs = now();
    for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
      const lagMs = arrivedMs - eventsStoredUntil();
      const decision = await batcher.add(queued);
      const isMissing = decision.outcome === 'refused' && decision.error.code === 'click_not_found';
      if (!isMissing || lagMs <= 0) return decision;
      if (lagMs > lateMs || pauseMs > lastPauseMs) throw new AppError('unavailable');
      await sleep(pauseMs);
    }
  }

  return {
    record: async (report, trace) => {
      const click = clickIds.read(report.clickId);
      // Only a wrong clock can create a click ID with a future time. Reject it here, because PostgreSQL dates have an
      // upper limit.
      if (click === null || timeOfUuid7(click.sessionId) > now() + dayMs) throw new AppError('click_not_found');
      const txnKeys = hashes.allOf(0, `transaction ${click.sessionId} ${report.txnId}`);
      const decision = await recordWhenStored({ report, click, txnKeys, trace });
      if (decision.outcome === 'refused') throw decision.error;
      const message = decision.outcome === 'duplicate' ? 'duplicate' : 'recorded';
      return { message, booking: decision.booking };
    },
    drain: batcher.drain,
  };
}

/**
 * Looks up the clicks for a batch of reports, decides about the reports and inserts the new bookings. If another
 * transaction has booked a report in the meantime, decides about it again.
 */
async function recordBatch(deps: ConversionDeps, queued: readonly QueuedReport[]): Promise<Decision[]> {
  const { snapshot, decisions } = await decideBatch(deps, queued);
  const newBookings = decisions.filter((decision) => decision.outcome === 'book');
  if (newBookings.length === 0) return decisions;
  const booked = await insertAll(deps.pool, snapshot, newBookings);
  for (const { suspicious } of booked.values()) deps.eventMeter.recorded('conversion', suspicious);
  const late = queued.filter((_report, index) => {
    const decision = decisions[index];
    return decision?.outcome === 'book' && !booked.has(decision.booking.id);
  });
  const again = late.length === 0 ? [] : (await decideBatch(deps, late)).decisions;
  return decisions.map((decision) => {
    if (decision.outcome !== 'book') return decision;
    const booking = booked.get(decision.booking.id);
    return booking === undefined ? (again.shift() as Decision) : { ...decision, booking };
  });
}

type Decided = { decisions: Decision[] /** Configuration of the decisions. */; snapshot: Snapshot };

async function decideBatch(deps: ConversionDeps, queued: readonly QueuedReport[]): Promise<Decided> {
  const { pool, secretBox, catalog, now } = deps;
  const lookups = queued.flatMap(toLookups);
  const clicks = await findClicks(pool, lookups, now());
  await catalog.readyAll(clicks.flatMap((click) => click?.publisherId ?? []));
  const [snapshot, nowMs] = [catalog.current(), now()];
  const openSecret = (sealed: Buffer): string => openConversionSecret(secretBox, sealed);
  const decisions = queued.map((report) => {
    const candidates = clicks.splice(0, report.txnKeys.length);
    // During a `USER_PEPPER` rotation, a transaction may already be booked under the key of an earlier pepper. If so,
    // keep that key.
    const click = candidates.findLast(isBooked) ?? candidates[0] ?? null;
    return decide(report, click, { snapshot, id: newUuid7(nowMs), nowMs, openSecret });
  });
  return { snapshot, decisions };
}

const toLookups = ({ report, click, txnKeys }: QueuedReport): Lookup[] =>
  txnKeys.map((txnKey) => ({ ...click, event: report.event, txnKey }));

const isBooked = (click: ConvertedClick | null): boolean =>
  click !== null && (click.conversion !== null || click.void !== null);

/**
 * Inserts ledger rows, counts the new rows for caps and reports, and creates their postbacks, all atomically. It needs
 * only a single statement, unless caps must be counted, which requires a transaction. Bookings that no longer fit into
 * a budget are stored with an amount of 0.
 * @returns the inserted bookings, by ID
 */
async function insertAll(
  pool: pg.Pool,
  snapshot: Snapshot,
  newBookings: readonly NewBooking[],
): Promise<Map<string, Booking>> {
  const rows = newBookings.map(({ booking }) => booking);
  const deliveriesIn = (entries: readonly NewBooking[]) => entries.flatMap((entry) => postbacksOf(snapshot, entry));
  if (!areCounted(snapshot, newBookings)) {
    const { added, queued } = await insertBookings(pool, rows, deliveriesIn(newBookings));
    notifyWorkers(pool, queued);
    return byId(rows.filter(({ id }) => added.has(id)));
  }
  return transaction(pool, async (executor) => {
    const { added } = await insertBookings(executor, rows);
    const entries = newBookings.filter(({ booking }) => added.has(booking.id));
    const unbilledIds = await countBookings(executor, snapshot, entries);
    if (unbilledIds.size > 0)
      await markUnbilledBookings(
        executor,
        rows.filter(({ id }) => unbilledIds.has(id)),
      );
    const booked = entries.map((entry) =>
      unbilledIds.has(entry.booking.id) ? { ...entry, booking: unbilled(entry.booking) } : entry,
    );
    const queued = await insertDeliveries(executor, deliveriesIn(booked));
    executor.onCommit(() => notifyWorkers(pool, queued));
    return byId(booked.map(({ booking }) => booking));
  });
}

const byId = (bookings: readonly Booking[]): Map<string, Booking> =>
  new Map(bookings.map((booking) => [booking.id, booking]));

/** Returns the postback deliveries for a booking, if its publisher receives conversion postbacks. */
function postbacksOf({ publishers }: Snapshot, { booking, click, trace }: NewBooking): Delivery[] {
  if (publishers.get(booking.publisherId)?.postbackEvents.includes('conversion') === false) return [];
  const event = {
    publisherId: booking.publisherId,
    event: postbackEvent,
    sessionId: booking.sessionId,
    pubUserId: click.pubUserId,
    dev: false,
    payload: () => bookingPostback(booking, click),
    nowMs: booking.bookedAtMs,
    causeId: booking.id,
    traceparent: trace?.traceparent ?? null,
  };
  return deliveriesOf(event, click.targets);
}
