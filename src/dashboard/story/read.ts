import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { dayOfUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { readDeliveries } from '../../webhooks/delivery-store.ts';

/** One thing that happened in a session. */
export type StoryEntry = {
  at: Date;
  /**
   * `fetch`, an event kind, `confirmed`, `coupon`, `redeemed`, `cancelled`, `saved`, `conversion`, `void`, `booking`,
   * `postback`, `webhook` or `message`.
   */
  kind: string;
  offerId: number | null;
  /** Number that reports count: 1, 0 for an excluded row, -1 for a void, or null if reports do not count the entry. */
  counted: number | null;
  /** Reason why the entry is not counted or not billed, or why no offer was shown. */
  reason: string | null;
  money: { currency: string; revenueMicros: number; unbilledMicros: number } | null;
  /** Event name and status of the entry, such as the status of a webhook. */
  name: string | null;
  status: string | null;
  txnId: string | null;
  deliveryId: string | null;
  /** HTTP status of the latest attempt of a webhook. */
  lastStatus: number | null;
};

/** Everything that is stored about a session, oldest first. Fields of the session are null if it is not stored. */
export type Story = {
  sessionId: string;
  at: Date;
  session: StorySession | null;
  entries: readonly StoryEntry[];
};

type StorySession = {
  placement: string;
  country: string | null;
  device: string | null;
  os: string | null;
  pub_user_id: string | null;
  dev: boolean;
  offer_ids: number[];
  empty_reason: string | null;
  created_at: Date;
  erased_at: Date | null;
};

/** Maximum number of entries from one table. A session has at most a few per offer. */
const maxRows = 200;

/** Whether any row of a session is stored for a publisher. */
export async function hasRows(executor: Executor, publisherId: number, sessionId: string): Promise<boolean> {
  const { rows } = await executor.query<{ exists: boolean }>({
    name: 'story_exists',
    text: `select exists (select from sessions where day = $1::date and id = $2::uuid and publisher_id = $3)
      or exists (select from events where day = $1::date and session_id = $2::uuid and publisher_id = $3)
      or exists (select from conversions where day = $1::date and session_id = $2::uuid and publisher_id = $3)
      or exists (select from deliveries where session_id = $2::uuid and publisher_id = $3) as exists`,
    values: [dayOfUuid7(sessionId), sessionId, publisherId],
  });
  return rows[0]?.exists ?? false;
}

/**
 * Reads the story of a session. Returns null if the publisher has no row of it.
 * @param userKeys keys by which coupons, messages and saved offers are stored
 */
export async function readStory(
  executor: Executor,
  { publisherId, sessionId, userKeys }: { publisherId: number; sessionId: string; userKeys: UserKeys },
): Promise<Story | null> {
  const values = [dayOfUuid7(sessionId), sessionId, publisherId];
  const session = await findSession(executor, values);
  const keys = session?.pub_user_id == null ? [] : userKeys.allOf(publisherId, session.pub_user_id);
  const entries = [
    ...(session === null ? [] : [fetchEntry(session)]),
    ...(await readEvents(executor, values)),
    ...(await readConfirmation(executor, values)),
    ...(keys.length === 0 ? [] : await readCoupons(executor, publisherId, sessionId, keys)),
    ...(await readConversions(executor, values)),
    ...(await readWebhooks(executor, publisherId, sessionId)),
    ...(keys.length === 0 ? [] : await readMessages(executor, publisherId, sessionId, keys)),
  ];
  if (entries.length === 0) return null;
  return {
    sessionId,
    at: session?.created_at ?? new Date(timeOfUuid7(sessionId)),
    session,
    entries: entries.sort((a, b) => a.at.getTime() - b.at.getTime()),
  };
}

const entry = (fields: Partial<StoryEntry> & { at: Date; kind: string }): StoryEntry => ({
  offerId: null,
  counted: null,
  reason: null,
  money: null,
  name: null,
  status: null,
  txnId: null,
  deliveryId: null,
  lastStatus: null,
  ...fields,
});

async function findSession(executor: Executor, values: unknown[]): Promise<StorySession | null> {
  const { rows } = await executor.query<StorySession>({
    name: 'story_session',
    text: `select placement, country, device, os, pub_user_id, dev, offer_ids, empty_reason, created_at, erased_at
      from sessions where day = $1::date and id = $2::uuid and publisher_id = $3`,
    values,
  });
  return rows[0] ?? null;
}

const fetchEntry = ({ created_at, dev, empty_reason }: StorySession): StoryEntry =>
  entry({ at: created_at, kind: 'fetch', counted: dev ? 0 : 1, reason: dev ? 'dev' : empty_reason });

type EventRow = {
  kind: string;
  offer_id: number;
  at: Date;
  suspicious: string | null;
  revenue_micros: string | null;
  unbilled_micros: string | null;
  currency: string | null;
};

async function readEvents(executor: Executor, values: unknown[]): Promise<StoryEntry[]> {
  const { rows } = await executor.query<EventRow>({
    name: 'story_events',
    text: `select kind, offer_id, at, suspicious, revenue_micros, unbilled_micros, coalesce(currency, (
        select payout_currency from campaigns where id = campaign_id)) as currency
      from events where day = $1::date and session_id = $2::uuid and publisher_id = $3 order by at limit ${maxRows}`,
    values,
  });
  return rows.map((row) =>
    entry({
      at: row.at,
      kind: row.kind,
      offerId: row.offer_id,
      counted: row.suspicious === null ? 1 : 0,
      reason: row.suspicious ?? (Number(row.unbilled_micros) === 0 ? null : 'unbilled'),
      // The amount of a suspicious event is stored, but never booked.
      money: row.suspicious === null ? moneyOf(row.currency, row.revenue_micros, row.unbilled_micros) : null,
    }),
  );
}

function moneyOf(currency: string | null, revenue: string | null, unbilled: string | null): StoryEntry['money'] {
  const [revenueMicros, unbilledMicros] = [Number(revenue), Number(unbilled)];
  return currency === null || (revenueMicros === 0 && unbilledMicros === 0)
    ? null
    : { currency, revenueMicros, unbilledMicros };
}

async function readConfirmation(executor: Executor, values: unknown[]): Promise<StoryEntry[]> {
  const { rows } = await executor.query<{ at: Date; selected: number }>({
    name: 'story_confirmation',
    text: `select wrapped_at as at, cardinality(selected) as selected from usp_sessions
      where day = $1::date and session_id = $2::uuid and publisher_id = $3 and wrapped_at is not null`,
    values,
  });
  return rows.map(({ at, selected }) => entry({ at, kind: 'confirmed', status: String(selected) }));
}

type CouponRow = { offer_id: number; given_at: Date; redeemed_at: Date | null; cancelled_at: Date | null };

async function readCoupons(
  executor: Executor,
  publisherId: number,
  sessionId: string,
  keys: readonly string[],
): Promise<StoryEntry[]> {
  const { rows } = await executor.query<CouponRow>({
    name: 'story_coupons',
    text: `select offer_id, given_at, redeemed_at, cancelled_at from coupons
      where user_key = any($3::uuid[]) and session_id = $2::uuid and publisher_id = $1 and held_until is null
      order by given_at limit ${maxRows}`,
    values: [publisherId, sessionId, keys],
  });
  return rows.flatMap(({ offer_id: offerId, given_at, redeemed_at, cancelled_at }) => [
    entry({ at: given_at, kind: 'coupon', offerId }),
    ...(redeemed_at === null ? [] : [entry({ at: redeemed_at, kind: 'redeemed', offerId })]),
    ...(cancelled_at === null ? [] : [entry({ at: cancelled_at, kind: 'cancelled', offerId })]),
  ]);
}

type ConversionRow = {
  offer_id: number;
  event: string;
  void: boolean;
  at: Date;
  txn_id: string | null;
  suspicious: string | null;
  unbilled_reason: string | null;
  payout_micros: string;
  unbilled_micros: string;
  currency: string;
};

/** Returns each conversion, followed by its booking in reports. Suspicious conversions have no booking. */
async function readConversions(executor: Executor, values: unknown[]): Promise<StoryEntry[]> {
  const { rows } = await executor.query<ConversionRow>({
    name: 'story_conversions',
    text: `select offer_id, event, void, booked_at as at, txn_id, suspicious, unbilled_reason, currency, payout_micros,
        unbilled_micros
      from conversions where day = $1::date and session_id = $2::uuid and publisher_id = $3
      order by booked_at limit ${maxRows}`,
    values,
  });
  return rows.flatMap((row) => {
    const isBooked = row.suspicious === null;
    const kind = row.void ? 'void' : 'conversion';
    const common = { at: row.at, offerId: row.offer_id, name: row.event, txnId: row.txn_id };
    const unbilled = Number(row.unbilled_micros) === 0 ? null : `unbilled_${row.unbilled_reason ?? 'budget'}`;
    return [
      entry({ ...common, kind, reason: row.suspicious, counted: isBooked ? null : 0 }),
      ...(isBooked
        ? [
            entry({
              ...common,
              kind: 'booking',
              counted: row.void ? -1 : 1,
              reason: unbilled,
              money: moneyOf(row.currency, row.payout_micros, row.unbilled_micros),
            }),
          ]
        : []),
    ];
  });
}

/** Event type of webhooks that report conversions. All other webhooks are about perks or saved offers. */
const postbackEvent = 'conversion';

async function readWebhooks(executor: Executor, publisherId: number, sessionId: string): Promise<StoryEntry[]> {
  const { rows: keys } = await executor.query<{ day: string; id: string }>({
    name: 'story_webhooks',
    text: `select day::text as day, id from deliveries where session_id = $2::uuid and publisher_id = $1
      order by day, id limit ${maxRows}`,
    values: [publisherId, sessionId],
  });
  if (keys.length === 0) return [];
  return (await readDeliveries(executor, keys)).map((delivery) =>
    entry({
      at: delivery.created_at,
      kind: delivery.event === postbackEvent ? 'postback' : 'webhook',
      name: delivery.event,
      status: delivery.status,
      deliveryId: delivery.id,
      lastStatus: delivery.last_status,
    }),
  );
}

type MessageRow = { at: Date; kind: string; state: string; offer_id: number | null };

async function readMessages(
  executor: Executor,
  publisherId: number,
  sessionId: string,
  keys: readonly string[],
): Promise<StoryEntry[]> {
  const { rows } = await executor.query<MessageRow>({
    name: 'story_messages',
    text: `select created_at as at, kind, state, offer_id from perk_messages
      where user_key = any($3::uuid[]) and session_id = $2::uuid and publisher_id = $1
      order by id limit ${maxRows}`,
    values: [publisherId, sessionId, keys],
  });
  return rows.map(({ at, kind, state, offer_id: offerId }) =>
    entry({ at, kind: 'message', name: kind, status: state, offerId }),
  );
}

/** Retention periods in days, by which parts of a story are deleted. */
export type StoryRetention = { retentionRawDays: number; retentionDeliveryDays: number };

/** Returns which parts of a session's story have been deleted because of their age. */
export function deletedParts(
  sessionId: string,
  { retentionRawDays, retentionDeliveryDays }: StoryRetention,
  nowMs: number,
): { rows: boolean; webhooks: boolean } {
  const isBefore = (days: number): boolean => dayOfUuid7(sessionId) < dayOf(nowMs - days * dayMs);
  return { rows: isBefore(retentionRawDays), webhooks: isBefore(retentionDeliveryDays) };
}
