import { hash } from 'node:crypto';
import { v7 } from 'uuid';
import type { CountedEvent } from '../budgets/count.ts';
import { isPostbackEvent, type Publisher, type Snapshot, type TrackedEvent } from '../catalog/types.ts';
import { dates, uuids } from '../platform/db/binary-array.ts';
import type { Transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { fromMicros, microsToNumber, times, toMicros } from '../platform/money.ts';
import { enqueue, type OutboxEvent } from '../webhooks/outbox.ts';
import { encodePostback, isoOrEmpty, postbackEvent } from './conversions/postback.ts';

/**
 * Whether an event must be stored together with a postback, because the event is paid and its publisher has an endpoint
 * for postbacks of this kind.
 */
export const needsPostback = (
  { publishers }: Snapshot,
  { kind, claims, suspicious, revenueMicros }: TrackedEvent,
): boolean => revenueMicros > 0 && suspicious === null && wantsPostback(publishers.get(claims.publisherId), kind);

const wantsPostback = (publisher: Publisher | undefined, kind: string): publisher is Publisher =>
  publisher?.hasPostbacks === true && isPostbackEvent(kind) && publisher.postbackEvents.includes(kind);

type PaidEvent = { event: CountedEvent; publisher: Publisher };

/**
 * Creates the postbacks for paid clicks and impressions. Must run in the transaction that stores the events, after the
 * events have been counted.
 * @param unbilled events that no longer fit into a budget
 */
export async function enqueuePaidEvents(
  executor: Transaction,
  { publishers }: Snapshot,
  events: readonly CountedEvent[],
  unbilled: readonly CountedEvent[],
): Promise<void> {
  const paid = events.flatMap((event): PaidEvent[] => {
    const publisher = publishers.get(event.publisherId);
    return event.revenueMicros > 0 && wantsPostback(publisher, event.kind) ? [{ event, publisher }] : [];
  });
  if (paid.length === 0) return;
  const sessions = await findSessions(
    executor,
    paid.map(({ event }) => event.sessionId),
  );
  const isUnbilled = new Set(unbilled);
  await enqueue(
    executor,
    paid.map((event) => toOutbox(event, isUnbilled.has(event.event), sessions.get(event.event.sessionId))),
  );
}

type SessionData = { pub_user_id: string | null; custom: Record<string, string> | null };

/** Loads session data for postbacks. Omits sessions that are not stored. */
async function findSessions(executor: Transaction, sessionIds: readonly string[]): Promise<Map<string, SessionData>> {
  const { rows } = await executor.query<SessionData & { id: string }>({
    name: 'find_postback_sessions',
    text: `select s.id, s.pub_user_id, s.custom
from unnest($1::date[], $2::uuid[]) as e (day, id)
cross join lateral (
  select id, pub_user_id, custom from sessions where day = any($3::date[]) and day = e.day and id = e.id offset 0
) s`,
    values: [dates(sessionIds, timeOfUuid7), uuids(sessionIds, (id) => id), [...new Set(sessionIds.map(dayOfUuid7))]],
  });
  return new Map(rows.map((row) => [row.id, row]));
}

function toOutbox({ event, publisher }: PaidEvent, isUnbilled: boolean, session?: SessionData): OutboxEvent {
  const id = postbackIdOf(event);
  return {
    publisherId: publisher.id,
    event: postbackEvent,
    sessionId: event.sessionId,
    pubUserId: session?.pub_user_id ?? null,
    dev: false,
    nowMs: event.atMs,
    id,
    payload: () => postbackOf({ event, publisher }, { id, isUnbilled, session }),
  };
}

type PaidEventDetails = { id: string; isUnbilled: boolean; session: SessionData | undefined };

function postbackOf({ event, publisher }: PaidEvent, { id, isUnbilled, session }: PaidEventDetails): Buffer {
  const { kind, campaign, atMs, revenueMicros } = event;
  const { isLoyalty, payout } = campaign;
  const multiplier = BigInt(toMicros(publisher.currencyMultiplier));
  const loyaltyMicros = isLoyalty && !isUnbilled ? times(BigInt(revenueMicros), multiplier) : 0n;
  return encodePostback({
    conversion_id: id,
    status: 'recorded',
    event: kind,
    txn_id: '',
    offer_id: event.offerId,
    campaign_id: campaign.id,
    advertiser_name: campaign.advertiserName,
    payout: isUnbilled ? 0 : fromMicros(revenueMicros),
    unbilled: isUnbilled ? fromMicros(revenueMicros) : 0,
    unbilled_reason: isUnbilled ? 'budget' : '',
    currency: payout.currency,
    is_loyalty: isLoyalty,
    loyalty_amount: microsToNumber(loyaltyMicros),
    click_time: isoOrEmpty(kind === 'click' ? atMs : null),
    conversion_time: '',
    void_time: '',
    timestamp: isoOrEmpty(atMs),
    session_id: event.sessionId,
    pub_user_id: session?.pub_user_id ?? '',
    suspicious: '',
    payload: session?.custom ?? {},
  });
}

/** Derives the ID of a postback from its event, so that a repeated event has the same postback ID. */
const postbackIdOf = ({ kind, sessionId, offerId, atMs }: CountedEvent): string =>
  v7({ msecs: Math.floor(atMs), random: hash('sha256', `${kind} ${sessionId} ${offerId}`, 'buffer').subarray(0, 16) });
