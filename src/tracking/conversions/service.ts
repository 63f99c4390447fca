import type pg from 'pg';
import type { CatalogDeps } from '../../catalog/ports.ts';
import type { Snapshot } from '../../catalog/snapshot/types.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { newUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { createSigner } from '../../platform/security/keyring.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import { book, type ReportBooking } from '../../reports/rollup/bookings.ts';
import { enqueue, type OutboxEvent } from '../../webhooks/outbox.ts';
import { type ClickRef, clickIdPurpose, createClickIdCodec } from '../clicks/click-id.ts';
import { insertBookings, type NewBooking } from './bookings.ts';
import { type ClickFacts, findClicks } from './clicks.ts';
import { countBookings } from './count.ts';
import { conversionEvent } from './event-type.ts';
import { judge, type Verdict } from './judge.ts';
import { buildPostback } from './postback.ts';
import type { ConversionCall } from './request.ts';
import { isSignedWith, openConversionSecret } from './secret.ts';

/** A repeat that says the same is answered `duplicate`, and changes nothing. */
export type Recorded = 'recorded' | 'duplicate';

export type ConversionService = {
  /**
   * Books a conversion or its void, and promises the publisher's postback, in one transaction; resolves after the
   * commit.
   * Errors: click_not_found, invalid_signature, those of `judge`, unavailable.
   */
  record: (call: ConversionCall) => Promise<Recorded>;
  drain: () => Promise<void>;
};

type Item = { call: ConversionCall; click: ClickRef; txnKey: string };
type Found = { item: Item; click: ClickFacts | null; verdict: Verdict };

/** Reports in one transaction (count). */
const maxItems = 128;

export function createConversionService({
  pool,
  dbHealth,
  catalog,
  config,
  secretBox,
  now,
}: CatalogDeps): ConversionService {
  const clickIds = createClickIdCodec(createSigner(config.tokenKeys, clickIdPurpose));
  const hashes = createUserKeys(config.userPepper);
  const batcher = createBatcher<Item, Verdict>({ write, dbHealth, maxItems });

  async function look(items: readonly Item[]): Promise<Found[]> {
    const lookups = items.map(({ call, click, txnKey }) => ({ ...click, event: call.event, txnKey }));
    const clicks = await findClicks(pool, lookups);
    return items.map((item, index) => {
      const click = clicks[index] ?? null;
      return { item, click, verdict: verdictOf(item, click) };
    });
  }

  function verdictOf({ call, txnKey }: Item, click: ClickFacts | null): Verdict {
    if (click === null) return { outcome: 'refused', error: new AppError('click_not_found') };
    if (!isAuthentic(secretBox, call, click)) return { outcome: 'refused', error: new AppError('invalid_signature') };
    const nowMs = now();
    return judge(call, click, { id: newUuid7(nowMs), txnKey, nowMs });
  }

  /** Judges a batch and books what is new. What somebody else booked meanwhile is judged again, beside that. */
  async function write(items: readonly Item[]): Promise<Verdict[]> {
    const found = await look(items);
    const wanted = found.flatMap(({ item, click, verdict }) =>
      click !== null && verdict.outcome === 'book'
        ? [{ click, booking: verdict.booking, txnId: click.erased ? '' : item.call.txnId }]
        : [],
    );
    if (wanted.length === 0) return found.map(({ verdict }) => verdict);
    const booked = await bookAll(pool, catalog.current(), wanted);
    const isLate = ({ verdict }: Found): boolean => verdict.outcome === 'book' && !booked.has(verdict.booking.id);
    const late = found.filter(isLate);
    const again = late.length === 0 ? [] : await look(late.map(({ item }) => item));
    return found.map((one) => (isLate(one) ? (again[late.indexOf(one)] as Found).verdict : one.verdict));
  }

  return {
    record: async (call) => {
      const click = clickIds.read(call.clickId);
      // A made-up time could lie beyond what a date of the store can hold.
      if (click === null || timeOfUuid7(click.sessionId) > now() + dayMs) throw new AppError('click_not_found');
      const txnKey = hashes.of(0, `transaction ${click.sessionId} ${call.txnId}`);
      const verdict = await batcher.add({ call, click, txnKey });
      if (verdict.outcome === 'refused') throw verdict.error;
      return verdict.outcome === 'duplicate' ? 'duplicate' : 'recorded';
    },
    drain: batcher.drain,
  };
}

/**
 * Books rows, counts them where caps want it, and promises the postback of each that is new; or does nothing of it.
 * @returns the ids of the new ones
 */
const bookAll = (pool: pg.Pool, snapshot: Snapshot, bookings: readonly NewBooking[]): Promise<Set<string>> =>
  transaction(pool, async (executor) => {
    const added = await insertBookings(executor, bookings);
    const fresh = bookings.filter(({ booking }) => added.has(booking.id));
    await book(executor, fresh.filter(({ booking }) => booking.suspicious === null).map(toReport));
    await enqueue(executor, fresh.map(promiseOf));
    await countBookings(executor, snapshot, fresh);
    return added;
  });

const promiseOf = (one: NewBooking): OutboxEvent => ({
  publisherId: one.click.publisherId,
  event: conversionEvent.name,
  sessionId: one.click.sessionId,
  pubUserId: one.click.pubUserId,
  dev: false,
  payload: () => buildPostback(one),
  nowMs: one.booking.bookedAtMs,
});

const toReport = ({ click, booking }: NewBooking): ReportBooking => ({
  id: booking.id,
  sessionId: click.sessionId,
  publisherId: click.publisherId,
  offerId: click.offerId,
  campaignId: click.campaignId,
  atMs: booking.bookedAtMs,
  conversions: booking.isVoid ? -1 : 1,
  revenueMicros: booking.payoutMicros,
});

const isAuthentic = (
  box: SecretBox,
  { signedText, signature }: ConversionCall,
  { secretSealed }: ClickFacts,
): boolean => secretSealed === null || isSignedWith(openConversionSecret(box, secretSealed), signedText, signature);
