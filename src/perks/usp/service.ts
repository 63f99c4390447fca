import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import type { PerkEvent } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import type { CouponIssuer } from '../../coupons/issuer.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { KeyResources } from '../../platform/http/key-restrictions.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { isPossibleUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { TokenCodec } from '../../platform/security/tracking-token.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { type EventMeter, insertEvents, perkEvent } from '../../tracking/event-rows.ts';
import { enqueue, type OutboxEvent } from '../../webhooks/outbox.ts';
import { type ConfirmedPerk, type PerkContext, perksOf } from '../confirmed-perk.ts';
import { findCoupons, giveAtWrap, holdSelected } from '../offer-coupons.ts';
import { type PerkMessages, toMessagePerk } from '../perk-messages.ts';
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

  const perksIn = (session: UspSession, selected: readonly number[], { caller }: UspCall): ConfirmedPerk[] =>
    perksOf(session, selected, contextOf(written, caller));

  /** View of a session, with its codes once it is wrapped. */
  async function view(session: UspSession, call: UspCall): Promise<SessionData> {
    if (session.wrappedAt === null) return viewOf(session, now());
    const perks = perksIn(session, session.selected, call);
    await failFast(() => findCoupons(pool, written.coupons, { session, perks }, now()));
    return viewOf(session, now(), perks);
  }

  const get = async (call: UspCall): Promise<SessionData> => view(await find(call), call);

  async function change(call: UspCall, changeOf: ChangeOf): Promise<SessionData> {
    const session = await find(call);
    const requestedChange = changeOf(session);
    if (session.wrappedAt !== null) throw new AppError('session_wrapped');
    if (isExpired(session, now())) throw new AppError('session_expired');
    const selected = await failFast(() => changeSelection(pool, session, requestedChange));
    if (selected === null) throw new AppError('session_wrapped');
    const toHold = { session, perks: perksIn(session, requestedChange.selected, call) };
    const toRelease = { session, perks: perksIn(session, requestedChange.unselected, call) };
    await failFast(() => holdSelected(pool, written.coupons, { selected: toHold, unselected: toRelease }, now()));
    return viewOf({ ...session, selected }, now());
  }

  async function wrap(call: UspCall, changeOf: ChangeOf, recipient: Recipient | null): Promise<SessionData> {
    const session = await find(call);
    const requestedChange = changeOf(session);
    if (session.wrappedAt !== null) return view(session, call);
    if (isExpired(session, now())) throw new AppError('session_expired');
    if (requestedChange.selected.length + requestedChange.unselected.length > 0)
      await failFast(() => changeSelection(pool, session, requestedChange));
    const wrapped = await wraps.add({ session, caller: call.caller, nowMs: now(), trace: call.trace, recipient });
    return wrapped === null ? get(call) : viewOf(wrapped.session, now(), wrapped.perks);
  }

  return { get, change, wrap };
}

/** Whether everything that a session showed is within the resources of a key. */
const isWithin = ({ placement, campaignIds }: UspSession, { campaigns, placements }: KeyResources): boolean =>
  (placements === null || placements.has(placement)) &&
  (campaigns === null || campaignIds.every((id) => campaigns.has(id)));

const isExpired = (session: UspSession, nowMs: number): boolean => nowMs - timeOfUuid7(session.id) > openForMs;

/** `perks` are those of a wrapped session. */
function viewOf(session: UspSession, nowMs: number, perks: readonly ConfirmedPerk[] = []) {
  const { id, pubUserId, campaignIds, wrappedAt } = session;
  const selected = new Set(session.selected);
  const status: 'open' | 'wrapped' | 'expired' =
    wrappedAt !== null ? 'wrapped' : isExpired(session, nowMs) ? 'expired' : 'open';
  const campaigns = perks.flatMap(({ claims, coupon }) =>
    coupon === undefined ? [] : [{ campaign_id: claims.campaignId, coupon }],
  );
  return {
    session_id: id,
    pub_user_id: pubUserId ?? '',
    status,
    selected: campaignIds.filter((campaignId) => selected.has(campaignId)),
    unselected: campaignIds.filter((campaignId) => !selected.has(campaignId)),
    wrapped_at: wrappedAt?.toISOString() ?? null,
    ...(campaigns.length > 0 && { campaigns }),
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

/** A wrap that was the first of its session, which is wrapped now, and its perks. */
type Confirmation = Wrap & { perks: readonly ConfirmedPerk[] };

/**
 * Wraps sessions, stores their selections for the reports, and enqueues their webhooks, all in one transaction.
 * @returns for each the wrapped session with its perks, or null if another call was first
 */
async function wrapBatch(deps: WrapDeps, items: readonly Wrap[]): Promise<(Confirmation | null)[]> {
  const firstBySession = [...new Map(items.toReversed().map((item) => [item.session.id, item])).values()];
  const confirmations = await transaction(deps.pool, async (executor) => {
    const wrapped = await markWrapped(executor, firstBySession);
    const byWrap = new Map<Wrap, Confirmation>();
    for (const wrap of firstBySession) {
      const selected = wrapped.get(wrap.session.id);
      if (selected === undefined) continue;
      const session = { ...wrap.session, selected, wrappedAt: new Date(wrap.nowMs) };
      byWrap.set(wrap, { ...wrap, session, perks: perksOf(session, selected, contextOf(deps, wrap.caller)) });
    }
    const done = [...byWrap.values()];
    const events = done.flatMap(selectionEvents);
    if (events.length > 0) await insertEvents(executor, events);
    executor.onCommit(() => deps.eventMeter.recorded('selection', null, events.length));
    await giveAtWrap(executor, deps.coupons, done);
    await enqueue(executor, done.map(toWebhook));
    const messages = done.flatMap(toMessage);
    if (messages.length > 0) await deps.messages?.add(executor, messages);
    return byWrap;
  });
  return items.map((item) => confirmations.get(item) ?? null);
}

const contextOf = ({ tokens, config }: WrapDeps, { publisher, snapshot }: Caller): PerkContext => ({
  publisher,
  offers: snapshot.offers,
  tokens,
  publicUrl: config.publicUrl,
});

/** Events of the selected perks, for the reports. */
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

/** Message to the user, if the call requests one and there are perks. */
function toMessage({ session, perks, recipient, nowMs }: Confirmation) {
  const { id: sessionId, publisherId, pubUserId, dev } = session;
  if (recipient === null || dev || pubUserId === null || perks.length === 0) return [];
  const messagePerks = perks.map(({ view, coupon }) => toMessagePerk(view(), coupon));
  return [{ sessionId, publisherId, pubUserId, recipient, nowMs, perks: messagePerks }];
}
