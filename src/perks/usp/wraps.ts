import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import type { PerkEvent } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import type { CouponIssuer, CouponPlan } from '../../coupons/issuer.ts';
import type { StoredCoupon } from '../../coupons/rows.ts';
import { type Executor, transaction, whenCommitted } from '../../platform/db/pool.ts';
import type { TokenCodec } from '../../platform/security/tracking-token.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { type EventMeter, insertEvents, perkEvent } from '../../tracking/event-rows.ts';
import { deliveriesOf, enqueue, notifyWorkers, type OutboxEvent, type Target } from '../../webhooks/outbox.ts';
import { type ConfirmedPerk, type PerkContext, perksOf } from '../confirmed-perk.ts';
import { issueAtWrap, needsCoupons, planAtWrap } from '../offer-coupons.ts';
import { type PerkMessages, toMessagePerk } from '../perk-messages.ts';
import type { Recipient } from '../recipient.ts';
import { buildUspPayload, uspSelection } from '../usp-selection.ts';
import { markWrapped, type UspSession } from '../usp-sessions.ts';
import { wrapUnlessChanged } from './wrap-statement.ts';

/** Dependencies for writing a batch of wraps to the database. */
export type WrapDeps = {
  pool: pg.Pool;
  tokens: TokenCodec;
  config: Config;
  eventMeter: EventMeter;
  coupons: CouponIssuer;
  /** Outbox for perk messages, or null if messages are not available. */
  messages: PerkMessages | null;
};

/** Wrap call with its session. */
export type Wrap = {
  session: UspSession;
  caller: Caller;
  nowMs: number;
  trace: Trace | null;
  /** Recipient of the perk e-mail, or null if the call did not request one. */
  recipient: Recipient | null;
};

/** First wrap of a session, with the wrapped session and its perks. */
type Confirmation = Wrap & { perks: readonly ConfirmedPerk[] };

type WrapResult = Confirmation | null | Promise<Confirmation | null>;

type Confirmations = ReadonlyMap<Wrap, Confirmation>;

/**
 * Creates a function that wraps a batch of sessions, stores their selection events for reports, and enqueues their
 * webhooks. It returns for each item the wrapped session with its perks, or null if another call wrapped the session
 * first.
 *
 * A single statement assumes that the selections have not changed since they were read, and that no other process has
 * assigned coupon codes since this process last did. If codes can't be planned in this way, or if messages are also
 * stored, it needs a transaction. Sessions whose selection has changed are wrapped with locks.
 */
export function createWrapWriter(deps: WrapDeps): (items: readonly Wrap[]) => Promise<WrapResult[]> {
  const knownEndpoints: KnownEndpoints = new LRUCache({ max: maxKnownPublishers });
  // Batches with codes wait for each other here, because they would otherwise wait for the lock of the stock.
  const inTurn = createTurns();
  return async (items) => {
    const firstBySession = [...new Map(items.toReversed().map((item) => [item.session.id, item])).values()];
    const assumed = new Map(firstBySession.map((wrap) => [wrap, confirm(deps, wrap, wrap.session.selected)]));
    const isPlain = [...assumed.values()].every(
      (confirmation) => !needsCoupons(confirmation) && toMessage(confirmation).length === 0,
    );
    const confirmed = isPlain
      ? await wrapAssumed(deps, deps.pool, assumed, { knownEndpoints })
      : await inTurn(() => wrapWithCodes(deps, assumed, knownEndpoints));
    const rest = firstBySession.filter((wrap) => !confirmed.has(wrap));
    if (rest.length === 0) return items.map((item) => confirmed.get(item) ?? null);
    const locked = wrapLocked(deps, rest);
    if (confirmed.size === 0) await locked;
    else locked.catch(() => {}); // Some sessions are committed, so a failure must affect only the others.
    return items.map((item) => confirmed.get(item) ?? locked.then((others) => others.get(item) ?? null));
  };
}

/** Creates a function that runs operations one after another. */
function createTurns(): <T>(run: () => Promise<T>) => Promise<T> {
  let previous: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = previous.then(run);
    previous = result.catch(() => {});
    return result;
  };
}

/** Endpoints that receive wraps, by publisher. `json` contains them as the database returned them. */
type KnownEndpoints = LRUCache<number, { json: string; targets: readonly Target[] }>;

/** Maximum number of publishers whose endpoints are remembered. */
const maxKnownPublishers = 1000;

type AssumedOptions = {
  knownEndpoints: KnownEndpoints;
  /** Plans the codes that the statement assigns. Null if they can't be planned. Default: no codes. */
  plan?: (owned: readonly StoredCoupon[]) => Promise<CouponPlan | null>;
};

/**
 * Wraps sessions in one statement, which checks that their selections, the publishers' endpoints and the stock of codes
 * are unchanged. If the endpoints have changed or users already have codes, the statement is repeated once.
 * @returns the wrapped sessions; all others are unchanged
 */
async function wrapAssumed(
  { pool, eventMeter }: WrapDeps,
  executor: Executor,
  assumed: Confirmations,
  { knownEndpoints, plan }: AssumedOptions,
): Promise<Confirmations> {
  const all = [...assumed.values()];
  let owned: readonly StoredCoupon[] = [];
  const publisherIds = [...new Set(all.map(({ session }) => session.publisherId))];
  const events = all.flatMap(selectionEvents);
  for (let attempt = 0; attempt < 2; attempt++) {
    const codes = plan === undefined ? null : await plan(owned);
    if (plan !== undefined && codes === null) return noConfirmations;
    const assumedEndpoints = publisherIds.map((publisherId) => ({ publisherId, ...knownEndpoints.get(publisherId) }));
    const targets = assumedEndpoints.flatMap((endpoints) => endpoints.targets ?? []);
    const deliveries = all.flatMap((confirmation) =>
      deliveriesOf({ ...toWebhook(confirmation), causeId: confirmation.session.id }, targets),
    );
    const result = await wrapUnlessChanged(executor, {
      wraps: all,
      events,
      deliveries,
      assumedEndpoints,
      codes: codes?.assignment ?? null,
    });
    for (const { publisherId, json } of result.changedEndpoints ?? [])
      knownEndpoints.set(publisherId, { json, targets: JSON.parse(json) as Target[] });
    if (result.isStockChanged) codes?.refused();
    owned = result.ownedCoupons;
    if (result.changedEndpoints !== null || owned.length > 0 || result.isStockChanged) continue;
    codes?.committed();
    const wrappedIds = new Set(result.sessionIds);
    const stored = events.filter(({ sessionId }) => wrappedIds.has(sessionId)).length;
    whenCommitted(executor, () => {
      eventMeter.recorded('selection', null, stored);
      notifyWorkers(pool, result.queuedEndpointIds);
    });
    return new Map([...assumed].filter(([{ session }]) => wrappedIds.has(session.id)));
  }
  return noConfirmations;
}

const noConfirmations: Confirmations = new Map();

/** Rolls back coupon codes that were issued for a selection that has changed. */
class SelectionChanged extends Error {}

/** Whether PostgreSQL refused a statement with one of these SQLSTATE codes. */
const hasCode = (err: unknown, ...codes: string[]): boolean => codes.includes(String((err as { code?: unknown }).code));

/**
 * Whether PostgreSQL ended a transaction because of a deadlock. It is possible if two processes wrap the same session:
 * `wrapWithCodes` locks the stock of codes before the sessions, and `wrapLocked` locks them in the opposite order.
 */
const isDeadlock = (err: unknown): boolean => hasCode(err, '40P01');

/**
 * Wraps sessions with planned coupon codes, in one statement.
 * @returns the wrapped sessions, or none if the codes can't be planned or something has changed
 */
async function wrapPlanned(
  deps: WrapDeps,
  assumed: Confirmations,
  knownEndpoints: KnownEndpoints,
): Promise<Confirmations> {
  const all = [...assumed.values()];
  if (all.some((confirmation) => toMessage(confirmation).length > 0)) return noConfirmations;
  const plan = (owned: readonly StoredCoupon[]) => planAtWrap(deps.pool, deps.coupons, all, owned);
  try {
    return await wrapAssumed(deps, deps.pool, assumed, { knownEndpoints, plan });
  } catch (err) {
    // A selection has changed (22012), or a user got a code while the statement waited for a lock (23505).
    if (hasCode(err, '22012', '23505', '40P01')) return noConfirmations;
    throw err;
  }
}

/**
 * Wraps sessions with their coupon codes and messages, in one statement or in a transaction.
 * @returns the wrapped sessions, or none if one of the selections has changed, or after a deadlock
 */
async function wrapWithCodes(
  deps: WrapDeps,
  assumed: Confirmations,
  knownEndpoints: KnownEndpoints,
): Promise<Confirmations> {
  const planned = await wrapPlanned(deps, assumed, knownEndpoints);
  if (planned.size > 0) return planned;
  const all = [...assumed.values()];
  try {
    return await transaction(deps.pool, async (executor) => {
      await issueAtWrap(executor, deps.coupons, all);
      const confirmed = await wrapAssumed(deps, executor, assumed, { knownEndpoints });
      if (confirmed.size < assumed.size) throw new SelectionChanged();
      const messages = all.flatMap(toMessage);
      if (messages.length > 0) await deps.messages?.add(executor, messages);
      return confirmed;
    });
  } catch (err) {
    if (err instanceof SelectionChanged || isDeadlock(err)) return noConfirmations;
    throw err;
  }
}

/**
 * Wraps sessions with the selections that they have when their rows are locked, with their coupon codes and messages.
 * Repeats it once after a deadlock.
 */
const wrapLocked = (deps: WrapDeps, wraps: readonly Wrap[]): Promise<Confirmations> =>
  wrapInTransaction(deps, wraps).catch((err) => {
    if (!isDeadlock(err)) throw err;
    return wrapInTransaction(deps, wraps);
  });

const wrapInTransaction = (deps: WrapDeps, wraps: readonly Wrap[]): Promise<Confirmations> =>
  transaction(deps.pool, async (executor) => {
    const selections = await markWrapped(executor, wraps);
    const confirmed = new Map<Wrap, Confirmation>();
    for (const wrap of wraps) {
      const selected = selections.get(wrap.session.id);
      if (selected !== undefined) confirmed.set(wrap, confirm(deps, wrap, selected));
    }
    const done = [...confirmed.values()];
    const events = done.flatMap(selectionEvents);
    if (events.length > 0) await insertEvents(executor, events);
    executor.onCommit(() => deps.eventMeter.recorded('selection', null, events.length));
    await issueAtWrap(executor, deps.coupons, done);
    await enqueue(executor, done.map(toWebhook));
    const messages = done.flatMap(toMessage);
    if (messages.length > 0) await deps.messages?.add(executor, messages);
    return confirmed;
  });

/** Returns the wrapped session with the perks of a selection. */
function confirm(deps: WrapDeps, wrap: Wrap, selected: readonly number[]): Confirmation {
  const session = { ...wrap.session, selected, wrappedAt: new Date(wrap.nowMs) };
  return { ...wrap, session, perks: perksOf(session, selected, perkContext(deps, wrap.caller)) };
}

export const perkContext = ({ tokens, config }: WrapDeps, { publisher, snapshot }: Caller): PerkContext => ({
  publisher,
  offers: snapshot.offers,
  tokens,
  publicUrl: config.publicUrl,
});

/** Returns the events that reports count for the selected perks. */
const selectionEvents = ({ session, perks, nowMs }: Confirmation): PerkEvent[] =>
  session.dev ? [] : perks.map(({ claims }) => perkEvent('selection', claims, nowMs));

const toWebhook = ({ session, perks, nowMs, trace }: Confirmation): OutboxEvent => ({
  publisherId: session.publisherId,
  event: uspSelection.name,
  sessionId: session.id,
  pubUserId: session.pubUserId,
  dev: session.dev,
  payload: () => buildUspPayload(session, perks),
  nowMs,
  traceparent: trace?.traceparent ?? null,
});

/**
 * Builds the message to the user if the call requested one and perks were selected. Returns a list, which is empty if
 * there is no message.
 */
function toMessage({ session, perks, recipient, nowMs }: Confirmation) {
  const { id: sessionId, publisherId, pubUserId, dev } = session;
  if (recipient === null || dev || pubUserId === null || perks.length === 0) return [];
  const messagePerks = perks.map(({ view, coupon }) => toMessagePerk(view(), coupon));
  return [{ sessionId, publisherId, pubUserId, recipient, nowMs, perks: messagePerks }];
}
