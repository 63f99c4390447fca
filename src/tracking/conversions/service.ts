import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { openConversionSecret } from '../../catalog/conversion-secret.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { exchangeOn } from '../../platform/exchange-rates.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { offsetMs } from '../../platform/lib/time-zone.ts';
import { newUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { isSignedWith } from '../../platform/security/hex-signature.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { type Delivery, deliveriesOf, insertDeliveries, type OutboxEvent, tellWorkers } from '../../webhooks/outbox.ts';
import { type ClickRef, createClickIdCodec } from '../clicks/click-id.ts';
import type { EventMeter } from '../event-rows.ts';
import { insertBookings, markUnbilledBookings, type NewBooking } from '../insert-bookings.ts';
import { type Booking, postbackEvent, unbilled } from './booking.ts';
import { areCounted, countBookings, withTotals } from './count-caps.ts';
import { type Evaluation, type EvaluationInput, evaluate } from './evaluate.ts';
import { type ConvertedClick, findClicks, type Lookup } from './find-clicks.ts';
import { bookingPostback } from './postback.ts';
import type { ConversionReport } from './request.ts';

/** Result of a report. A repeat is answered with `duplicate` and the first booking, and changes nothing. */
export type ReportResult = { message: 'recorded' | 'duplicate'; booking: Booking | null };

export type ConversionService = {
  /**
   * Books a conversion or its void and creates its postback in one transaction; resolves after the commit. Errors:
   * click_not_found, invalid_signature, those of `evaluate`, unavailable.
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
  /** All events acknowledged before this time are stored (epoch milliseconds). With an event log it may lag behind. */
  eventsStoredUntil: () => number;
  now: () => number;
};

/**
 * Pauses while waiting for a click that may still be in the event log. The total wait is up to twice the last pause.
 */
const [firstPauseMs, lastPauseMs] = [50, 3_200];
/** Maximum lag of a log that is waited for (milliseconds). */
const lateMs = 5_000;

/** Maximum number of reports in a transaction. */
const maxItems = 128;

export function createConversionService(deps: ConversionDeps): ConversionService {
  const { dbHealth, config, now, eventsStoredUntil } = deps;
  const clickIds = createClickIdCodec(config.tokenKeys);
  const hashes = createUserKeys(config.userPepper, config.earlierPeppers);
  const batcher = createBatcher<Item, Evaluation>({
    write: (items) => recordBatch(deps, items),
    dbHealth,
    maxItems,
    meter: deps.batchMeters('conversions'),
    traceOf: ({ trace }) => trace,
  });

  /**
   * Waits for clicks that were in the event log when the report arrived. Without a log, everything is already stored.
   */
  async function evaluateWhenStored(item: Item): Promise<Evaluation> {
    const arrivedMs = now();
    for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
      const lagMs = arrivedMs - eventsStoredUntil();
      const evaluation = await batcher.add(item);
      const isMissing = evaluation.outcome === 'refused' && evaluation.error.code === 'click_not_found';
      if (!isMissing || lagMs <= 0) return evaluation;
      if (lagMs > lateMs || pauseMs > lastPauseMs) throw new AppError('unavailable');
      await sleep(pauseMs);
    }
  }

  return {
    record: async (report, trace) => {
      const click = clickIds.read(report.clickId);
      // A click id in the future can only be caused by a wrong clock, and PostgreSQL's dates have a limit.
      if (click === null || timeOfUuid7(click.sessionId) > now() + dayMs) throw new AppError('click_not_found');
      const [txnKey = '', ...earlierKeys] = hashes.allOf(0, `transaction ${click.sessionId} ${report.txnId}`);
      const evaluation = await evaluateWhenStored({ report, click, txnKey, earlierKeys, trace });
      if (evaluation.outcome === 'refused') throw evaluation.error;
      const message = evaluation.outcome === 'duplicate' ? 'duplicate' : 'recorded';
      return { message, booking: evaluation.booking };
    },
    drain: batcher.drain,
  };
}

/** A queued report. `earlierKeys` are those of the same transaction under earlier peppers; usually empty. */
type Item = {
  report: ConversionReport;
  click: ClickRef;
  txnKey: string;
  earlierKeys: readonly string[];
  trace: Trace | null;
};
type Evaluated = { item: Item; click: ConvertedClick | null; evaluation: Evaluation };

/** Evaluates a batch and books the new reports. Those that another transaction booked meanwhile are evaluated again. */
async function recordBatch(deps: ConversionDeps, items: readonly Item[]): Promise<Evaluation[]> {
  const evaluated = await evaluateBatch(deps, items);
  const bookings = evaluated.flatMap(toNewBooking);
  if (bookings.length === 0) return evaluated.map(({ evaluation }) => evaluation);
  const booked = await bookAll(deps, bookings);
  for (const { booking } of bookings)
    if (booked.has(booking.id)) deps.eventMeter.recorded('conversion', booking.suspicious);
  const isLate = ({ evaluation }: Evaluated): boolean =>
    evaluation.outcome === 'book' && !booked.has(evaluation.booking.id);
  const late = evaluated.filter(isLate);
  const again =
    late.length === 0
      ? []
      : await evaluateBatch(
          deps,
          late.map(({ item }) => item),
        );
  return evaluated.map((entry) => {
    if (isLate(entry)) return (again[late.indexOf(entry)] as Evaluated).evaluation;
    const { evaluation } = entry;
    const booking = evaluation.outcome === 'book' ? booked.get(evaluation.booking.id) : undefined;
    return booking === undefined ? evaluation : { outcome: 'book', booking };
  });
}

async function evaluateBatch(deps: ConversionDeps, batch: readonly Item[]): Promise<Evaluated[]> {
  const items = await withBookedKeys(deps, batch);
  const clicks = await findClicks(deps.pool, items.map(toLookup), deps.now());
  return items.map((item, index) => {
    const click = clicks[index] ?? null;
    return { item, click, evaluation: evaluateItem(deps, item, click) };
  });
}

const toLookup = ({ report, click, txnKey }: Item): Lookup => ({ ...click, event: report.event, txnKey });

/** During a rotation of USER_PEPPER, a transaction that is booked under an earlier key keeps it. */
async function withBookedKeys({ pool, now }: ConversionDeps, items: readonly Item[]): Promise<readonly Item[]> {
  let itemsWithKeys = items;
  const rounds = Math.max(0, ...items.map(({ earlierKeys }) => earlierKeys.length));
  for (let round = 0; round < rounds; round += 1) {
    const withEarlierKey = itemsWithKeys.map((item) => ({ ...item, txnKey: item.earlierKeys[round] ?? item.txnKey }));
    const clicks = await findClicks(pool, withEarlierKey.map(toLookup), now());
    itemsWithKeys = itemsWithKeys.map((item, index) => {
      const click = clicks[index];
      const isBooked = click != null && (click.conversion !== null || click.void !== null);
      return isBooked ? (withEarlierKey[index] as Item) : item;
    });
  }
  return itemsWithKeys;
}

function evaluateItem(
  { secretBox, now, catalog }: ConversionDeps,
  { report, txnKey }: Item,
  click: ConvertedClick | null,
): Evaluation {
  if (click === null) return { outcome: 'refused', error: new AppError('click_not_found') };
  if (!isAuthentic(secretBox, report, click)) return { outcome: 'refused', error: new AppError('invalid_signature') };
  const nowMs = now();
  const exchange = exchangeAt(catalog.current(), click.publisherId, nowMs);
  return evaluate(report, click, { id: newUuid7(nowMs), txnKey, nowMs, exchange });
}

/** Exchange by the rates of a publisher, on the day of an instant in its time zone. */
function exchangeAt({ publishers }: Snapshot, publisherId: number, nowMs: number): EvaluationInput['exchange'] {
  const publisher = publishers.get(publisherId);
  if (publisher === undefined) return () => null;
  const { exchangeRates, timeZone } = publisher;
  return (from, to) => exchangeOn(exchangeRates, from, to, dayOf(nowMs + offsetMs(timeZone, nowMs)));
}

const isAuthentic = (
  box: SecretBox,
  { signedText, signature }: ConversionReport,
  { secretSealed }: ConvertedClick,
): boolean => secretSealed === null || isSignedWith(openConversionSecret(box, secretSealed), signedText, signature);

const toNewBooking = ({ item, click, evaluation }: Evaluated): NewBooking[] =>
  click !== null && evaluation.outcome === 'book'
    ? [{ click, booking: evaluation.booking, txnId: click.erased ? '' : item.report.txnId, trace: item.trace }]
    : [];

/**
 * Adds rows to the ledger, counts the new ones for caps and reports, and creates their postbacks, all or nothing. It is
 * one statement, in a transaction only if caps count. Bookings that no longer fit into a budget are booked with 0.
 * @returns the new bookings, by id
 */
async function bookAll(
  { pool, catalog }: ConversionDeps,
  newBookings: readonly NewBooking[],
): Promise<Map<string, Booking>> {
  const snapshot = catalog.current();
  const bookings = withTotals(snapshot, newBookings);
  if (!areCounted(snapshot, bookings)) {
    const { added, queued } = await insertBookings(pool, bookings, bookings.flatMap(postbacksIn(snapshot)));
    tellWorkers(pool, queued);
    return byId(bookings.filter(({ booking }) => added.has(booking.id)));
  }
  return transaction(pool, async (executor) => {
    const { added } = await insertBookings(executor, bookings);
    const booked = await countAdded(
      executor,
      snapshot,
      bookings.filter(({ booking }) => added.has(booking.id)),
    );
    const queued = await insertDeliveries(executor, booked.flatMap(postbacksIn(snapshot)));
    executor.onCommit(() => tellWorkers(pool, queued));
    return byId(booked);
  });
}

const byId = (bookings: readonly NewBooking[]): Map<string, Booking> =>
  new Map(bookings.map(({ booking }) => [booking.id, booking]));

/**
 * Counts the added bookings.
 * @returns the same bookings, with 0 if they no longer fit into a budget
 */
async function countAdded(
  executor: Executor,
  snapshot: Snapshot,
  bookings: readonly NewBooking[],
): Promise<NewBooking[]> {
  const unbilledIds = await countBookings(executor, snapshot, bookings);
  const isUnbilled = ({ booking }: NewBooking): boolean => unbilledIds.has(booking.id);
  if (unbilledIds.size > 0) await markUnbilledBookings(executor, bookings.filter(isUnbilled));
  return bookings.map((entry) => (isUnbilled(entry) ? { ...entry, booking: unbilled(entry.booking) } : entry));
}

/** Deliveries of bookings, if their publishers receive postbacks of conversions. */
const postbacksIn =
  ({ publishers }: Snapshot) =>
  (entry: NewBooking): Delivery[] => {
    const isWanted = publishers.get(entry.click.publisherId)?.postbackEvents.includes('conversion') !== false;
    return isWanted ? deliveriesOf(toPostback(entry), entry.click.targets) : [];
  };

const toPostback = (entry: NewBooking): OutboxEvent => ({
  publisherId: entry.click.publisherId,
  event: postbackEvent,
  sessionId: entry.click.sessionId,
  pubUserId: entry.click.pubUserId,
  dev: false,
  payload: () => bookingPostback(entry),
  nowMs: entry.booking.bookedAtMs,
  causeId: entry.booking.id,
  traceparent: entry.trace?.traceparent ?? null,
});
