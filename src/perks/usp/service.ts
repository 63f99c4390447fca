import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import type { PerkEvent } from '../../catalog/tracked-event.ts';
import type { Config } from '../../config.ts';
import type { CouponIssuer } from '../../coupons/issuer.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { createFailFast } from '../../platform/db/health.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { KeyResources } from '../../platform/http/key-restrictions.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { isPossibleUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { TokenCodec } from '../../platform/security/tracking-token.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { type EventMeter, insertEvents, perkEvent } from '../../tracking/event-rows.ts';
import { enqueue, type OutboxEvent } from '../../webhooks/outbox.ts';
import { findSessionCoupons, giveAtWrap, holdSelected, type SessionCoupons } from '../offer-coupons.ts';
import type { PerkMessages } from '../perk-messages.ts';
import type { Recipient } from '../recipient.ts';
import { buildUspPayload, uspSelection } from '../usp-selection.ts';
import {
  changeSelection,
  findUspSessions,
  markWrapped,
  type SelectionChange,
  type SessionKey,
  type UspSession,
} from '../usp-sessions.ts';

/** Session of a call and its caller. `pubUserId` is null if it is missing. */
export type UspCall = { caller: Caller; sessionId: string; pubUserId: string | null; trace: Trace | null };

/** Returns the change that a call requests. It gets the session, so that it can reject campaigns that are not in it. */
type ChangeOf = (session: UspSession) => SelectionChange;

export type UspService = {
  get: (call: UspCall) => Promise<SessionData>;
  change: (call: UspCall, changeOf: ChangeOf) => Promise<SessionData>;
  /**
   * Applies the change and wraps the session. Idempotent: a wrapped session is returned unchanged, and no webhook is
   * sent again.
   */
  wrap: (call: UspCall, changeOf: ChangeOf, recipient: Recipient | null) => Promise<SessionData>;
};

/** `data` of the session view (docs/reference/perks-and-wallet.md#user-selected-perks). */
type SessionData = ReturnType<typeof viewOf>;

/** Dependencies for writing a batch of wraps. */
type WrapDeps = {
  pool: pg.Pool;
  tokens: TokenCodec;
  config: Config;
  eventMeter: EventMeter;
  coupons: CouponIssuer;
  /** Messages; null if none are sent. */
  messages: PerkMessages | null;
};

/** Dependencies of the calls. `now` returns epoch milliseconds. */
export type UspDeps = WrapDeps & { dbHealth: DatabaseHealth; batchMeters: BatchMeters; now: () => number };

/** How long after the fetch a session can be changed and wrapped (milliseconds). */
const openForMs = dayMs;

/**
 * Creates the calls of User Selected Perks (docs/reference/perks-and-wallet.md#user-selected-perks). Errors:
 * session_not_found, pub_user_id_required, usp_not_enabled, campaign_not_in_session, session_wrapped, session_expired.
 */
export function createUspService({ dbHealth, batchMeters, now, ...written }: UspDeps): UspService {
  const { pool } = written;
  // For direct queries to the database; batches fail fast by themselves.
  const failFast = createFailFast(dbHealth);
  // Reads the sessions of concurrent calls together. A statement for each took two thirds of a wrap's time in
  // PostgreSQL.
  const sessions = createBatcher<SessionKey, UspSession | null>({
    write: (keys) => findUspSessions(pool, keys),
    dbHealth,
  });
  const wraps = createBatcher({
    write: (items: readonly Wrap[]) => wrapBatch(written, items),
    dbHealth,
    meter: batchMeters('wraps'),
    traceOf: ({ trace }: Wrap) => trace,
  });

  async function find({ caller, sessionId, pubUserId }: UspCall): Promise<UspSession> {
    // The SDK id is public, so its callers must prove by the user id that the session is theirs. An API key needs no
    // proof.
    if (caller.key === null && pubUserId === null) throw new AppError('pub_user_id_required');
    const id = sessionId.toLowerCase();
    // A forged id can have a time beyond PostgreSQL's dates.
    if (!isPossibleUuid7(id, now())) throw new AppError('session_not_found');
    const session = await sessions.add({ publisherId: caller.publisher.id, id });
    if (session === null) throw new AppError('session_not_found');
    const resources = caller.key?.restrictions?.resources ?? null;
    if (resources !== null && !isWithin(session, resources)) throw new AppError('session_not_found');
    // This precedes any other error, so that another user learns nothing about the session.
    const hasUser = session.usp || session.pubUserId !== null;
    const isForeign = pubUserId !== null && hasUser && pubUserId !== session.pubUserId;
    if (isForeign) throw new AppError('session_not_found');
    if (!session.usp) throw new AppError(session.pubUserId === null ? 'pub_user_id_required' : 'usp_not_enabled');
    if (!caller.publisher.uspEnabled) throw new AppError('usp_not_enabled');
    return session;
  }

  /** View of a session, with its codes once it is wrapped. */
  async function view(session: UspSession, { caller }: UspCall): Promise<SessionData> {
    const context = { coupons: written.coupons, offers: caller.snapshot.offers };
    const selection = { session, selected: session.selected };
    const isGiven = session.wrappedAt !== null && hasCodes({ session, caller });
    const coupons = isGiven ? await failFast(() => findSessionCoupons(pool, context, selection, now())) : noCoupons;
    return viewOf(session, now(), coupons);
  }

  const get = async (call: UspCall): Promise<SessionData> => view(await find(call), call);

  async function change(call: UspCall, changeOf: ChangeOf): Promise<SessionData> {
    const session = await find(call);
    const requestedChange = changeOf(session);
    if (session.wrappedAt !== null) throw new AppError('session_wrapped');
    if (isExpired(session, now())) throw new AppError('session_expired');
    const selected = await failFast(() => changeSelection(pool, session, requestedChange));
    if (selected === null) throw new AppError('session_wrapped');
    const context = { coupons: written.coupons, offers: call.caller.snapshot.offers };
    if (hasCodes({ session, caller: call.caller }))
      await failFast(() => holdSelected(pool, context, session, requestedChange, now()));
    return viewOf({ ...session, selected }, now(), noCoupons);
  }

  async function wrap(call: UspCall, changeOf: ChangeOf, recipient: Recipient | null): Promise<SessionData> {
    const session = await find(call);
    const requestedChange = changeOf(session);
    if (session.wrappedAt !== null) return view(session, call);
    if (isExpired(session, now())) throw new AppError('session_expired');
    if (requestedChange.selected.length + requestedChange.unselected.length > 0)
      await failFast(() => changeSelection(pool, session, requestedChange));
    const wrapped = await wraps.add({ session, caller: call.caller, nowMs: now(), trace: call.trace, recipient });
    return wrapped === null ? get(call) : viewOf(wrapped.session, now(), wrapped.coupons);
  }

  return { get, change, wrap };
}

/** Whether everything that a session showed is within the resources of a key. */
const isWithin = ({ placement, campaignIds }: UspSession, { campaigns, placements }: KeyResources): boolean =>
  (placements === null || placements.has(placement)) &&
  (campaigns === null || campaignIds.every((id) => campaigns.has(id)));

const isExpired = (session: UspSession, nowMs: number): boolean => nowMs - timeOfUuid7(session.id) > openForMs;

function viewOf(session: UspSession, nowMs: number, coupons: SessionCoupons) {
  const { id, pubUserId, campaignIds, wrappedAt } = session;
  const selected = new Set(session.selected);
  const status: 'open' | 'wrapped' | 'expired' =
    wrappedAt !== null ? 'wrapped' : isExpired(session, nowMs) ? 'expired' : 'open';
  return {
    session_id: id,
    pub_user_id: pubUserId ?? '',
    status,
    selected: campaignIds.filter((campaignId) => selected.has(campaignId)),
    unselected: campaignIds.filter((campaignId) => !selected.has(campaignId)),
    wrapped_at: wrappedAt?.toISOString() ?? null,
    ...(coupons.size === 0
      ? {}
      : { campaigns: [...coupons].map(([campaignId, coupon]) => ({ campaign_id: campaignId, coupon })) }),
  };
}

/** A call that wraps, with its session. */
type Wrap = {
  session: UspSession;
  caller: Caller;
  nowMs: number;
  trace: Trace | null;
  /** Recipient of the e-mail with the perks; null for none. */
  recipient: Recipient | null;
};

/**
 * Wraps sessions, stores their selections for the reports, and enqueues their webhooks, all in one transaction.
 * @returns for each the wrapped session with its codes, or null if another call was first
 */
async function wrapBatch(deps: WrapDeps, items: readonly Wrap[]): Promise<(WrapResult | null)[]> {
  const firstBySession = [...new Map(items.toReversed().map((item) => [item.session.id, item])).values()];
  const { wrapped: selections, coupons } = await transaction(deps.pool, async (executor) => {
    const wrapped = await markWrapped(executor, firstBySession);
    const done = firstBySession.flatMap((item) => {
      const selected = wrapped.get(item.session.id);
      return selected === undefined ? [] : [{ selected, ...item }];
    });
    const events = done.flatMap(selectionEvents);
    if (events.length > 0) await insertEvents(executor, events);
    executor.onCommit(() => deps.eventMeter.recorded('selection', null, events.length));
    const withCodes = done.filter(hasCodes);
    const coupons =
      withCodes.length === 0
        ? new Map<string, SessionCoupons>()
        : await giveAtWrap(
            executor,
            withCodes.map((item) => ({ ...item, coupons: deps.coupons, offers: item.caller.snapshot.offers })),
          );
    await enqueue(
      executor,
      done.map((item) => toWebhook(deps, item, coupons.get(item.session.id) ?? noCoupons)),
    );
    const mailed = done.flatMap(({ recipient, ...item }) => {
      const payload = (): Buffer => payloadOf(deps, item, coupons.get(item.session.id));
      return recipient === null || item.session.dev ? [] : [{ ...item.session, recipient, payload, nowMs: item.nowMs }];
    });
    if (mailed.length > 0) await deps.messages?.add(executor, mailed);
    return { wrapped, coupons };
  });
  return items.map((item) => {
    const selected = firstBySession.includes(item) ? selections.get(item.session.id) : undefined;
    if (selected === undefined) return null;
    const session = { ...item.session, selected, wrappedAt: new Date(item.nowMs) };
    return { session, coupons: coupons.get(session.id) ?? noCoupons };
  });
}

/** Whether the session showed an offer with codes. */
const hasCodes = ({ session, caller: { snapshot } }: { session: UspSession; caller: Caller }): boolean =>
  session.offerIds.some((id) => (snapshot.offers.get(id)?.coupon ?? null) !== null);

const noCoupons: SessionCoupons = new Map();

type WrapResult = { session: UspSession; coupons: SessionCoupons };

type WrappedSession = { session: UspSession; caller: Caller; selected: readonly number[] };

type Wrapped = Wrap & WrappedSession;

function toWebhook(deps: WrapDeps, item: Wrapped, coupons: SessionCoupons): OutboxEvent {
  const { session, nowMs, trace } = item;
  const { id: sessionId, publisherId, pubUserId, dev } = session;
  const payload = (): Buffer => payloadOf(deps, item, coupons);
  const traceparent = trace?.traceparent ?? null;
  return { publisherId, event: uspSelection.name, sessionId, pubUserId, dev, payload, nowMs, traceparent };
}

function payloadOf(
  { tokens, config }: WrapDeps,
  { session, selected, caller: { publisher, snapshot } }: WrappedSession,
  coupons: SessionCoupons = noCoupons,
): Buffer {
  const context = { publisher, offers: snapshot.offers, tokens, publicUrl: config.publicUrl, coupons };
  return buildUspPayload(session, selected, context);
}

/** Events of the selected perks, for the reports. */
function selectionEvents({ session, selected, nowMs }: Wrapped): PerkEvent[] {
  const { id: sessionId, publisherId, offerIds, campaignIds, dev } = session;
  if (dev) return [];
  return campaignIds.flatMap((campaignId, index) => {
    const offerId = offerIds[index] as number;
    const claims = { publisherId, sessionId, offerId, campaignId, position: index + 1, dev };
    return selected.includes(campaignId) ? [perkEvent('selection', claims, nowMs)] : [];
  });
}
