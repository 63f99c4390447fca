import type { Caller } from '../../accounts/caller.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { KeyResources } from '../../platform/http/key-restrictions.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { isPossibleUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { type ConfirmedPerk, perksOf } from '../confirmed-perk.ts';
import { findCoupons, holdSelected } from '../offer-coupons.ts';
import type { Recipient } from '../recipient.ts';
import {
  changeSelection,
  findUspSessions,
  type SelectionChange,
  type SessionKey,
  type UspSession,
} from '../usp-sessions.ts';
import { createWrapWriter, perkContext, type Wrap, type WrapDeps } from './wraps.ts';

/** Session, caller and trace of a call. `pubUserId` is null if the call does not contain a user ID. */
export type UspCall = { caller: Caller; sessionId: string; pubUserId: string | null; trace: Trace | null };

/**
 * Returns the selection change that a call requests. The session is an argument, so that campaigns that it did not show
 * can be rejected.
 */
type ChangeOf = (session: UspSession) => SelectionChange;

export type UspService = {
  get: (call: UspCall) => Promise<SessionData>;
  change: (call: UspCall, changeOf: ChangeOf) => Promise<SessionData>;
  /**
   * Applies the change and wraps the session. Idempotent: if the session is already wrapped, returns it unchanged and
   * sends no other webhook.
   */
  wrap: (call: UspCall, changeOf: ChangeOf, recipient: Recipient | null) => Promise<SessionData>;
};

/** `data` member of the session view (docs/reference/perks-and-wallet.md#user-selected-perks). */
type SessionData = ReturnType<typeof viewOf>;

/** Dependencies of the User Selected Perks calls. `now` returns epoch milliseconds. */
export type UspDeps = WrapDeps & { dbHealth: DatabaseHealth; batchMeters: BatchMeters; now: () => number };

/** Time after the fetch during which a session can be changed and wrapped, in milliseconds. */
const openForMs = dayMs;

/**
 * Creates the service for the User Selected Perks calls (docs/reference/perks-and-wallet.md#user-selected-perks).
 * Errors: session_not_found, pub_user_id_required, usp_not_enabled, campaign_not_in_session, session_wrapped,
 * session_expired.
 */
export function createUspService({ dbHealth, batchMeters, now, ...written }: UspDeps): UspService {
  const { pool } = written;
  // Used for direct database queries only, because batchers already fail fast.
  const failFast = createFailFast(dbHealth);
  // Sessions for concurrent calls are read in one query. With one query per call, reads made up two thirds of a wrap's
  // time in PostgreSQL.
  const sessions = createBatcher<SessionKey, UspSession | null>({
    write: (keys) => findUspSessions(pool, keys),
    dbHealth,
  });
  const wraps = createBatcher({
    write: createWrapWriter(written),
    dbHealth,
    meter: batchMeters('wraps'),
    traceOf: ({ trace }: Wrap) => trace,
  });

  async function find({ caller, sessionId, pubUserId }: UspCall): Promise<UspSession> {
    // The SDK ID is public, so callers that use it must send the user ID to prove that the session is theirs. Callers
    // with an API key need no such proof.
    if (caller.key === null && pubUserId === null) throw new AppError('pub_user_id_required');
    const id = sessionId.toLowerCase();
    // A forged session ID can contain a time outside PostgreSQL's date range.
    if (!isPossibleUuid7(id, now())) throw new AppError('session_not_found');
    const session = await sessions.add({ publisherId: caller.publisher.id, id });
    if (session === null) throw new AppError('session_not_found');
    const resources = caller.key?.restrictions?.resources ?? null;
    if (resources !== null && !isWithin(session, resources)) throw new AppError('session_not_found');
    // Check the user before anything else, so that another user learns nothing about the session.
    const hasUser = session.usp || session.pubUserId !== null;
    const isForeign = pubUserId !== null && hasUser && pubUserId !== session.pubUserId;
    if (isForeign) throw new AppError('session_not_found');
    if (!session.usp) throw new AppError(session.pubUserId === null ? 'pub_user_id_required' : 'usp_not_enabled');
    if (!caller.publisher.uspEnabled) throw new AppError('usp_not_enabled');
    return session;
  }

  const perksIn = (session: UspSession, selected: readonly number[], { caller }: UspCall): ConfirmedPerk[] =>
    perksOf(session, selected, perkContext(written, caller));

  /** Returns the session view, including the coupon codes if the session is wrapped. */
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
    const isChanged = requestedChange.selected.length + requestedChange.unselected.length > 0;
    const changed = isChanged ? await failFast(() => changeSelection(pool, session, requestedChange)) : null;
    const current = changed === null ? session : { ...session, selected: changed };
    const { caller, trace } = call;
    const wrapped = await wraps.add({ session: current, caller, nowMs: now(), trace, recipient });
    return wrapped === null ? get(call) : viewOf(wrapped.session, now(), wrapped.perks);
  }

  return { get, change, wrap };
}

/** Whether everything that the session showed is among the key's resources. */
const isWithin = ({ placement, campaignIds }: UspSession, { campaigns, placements }: KeyResources): boolean =>
  (placements === null || placements.has(placement)) &&
  (campaigns === null || campaignIds.every((id) => campaigns.has(id)));

const isExpired = (session: UspSession, nowMs: number): boolean => nowMs - timeOfUuid7(session.id) > openForMs;

/** Builds the session view. `perks` are the confirmed perks of a wrapped session. */
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
