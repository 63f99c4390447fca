import type pg from 'pg';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { keepMs } from './store.ts';

/** Recipient of a publisher's messages. `addressKey` is the keyed hash of the e-mail address. */
export type Reader = { publisherId: number; addressKey: string };

/**
 * Placeholder publisher ID for suppressions that apply to all publishers, because the address does not work or its
 * owner complained.
 */
export const allPublishers = 0;

export const suppressionReasons = ['unsubscribed', 'bounced', 'complained', 'added'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/**
 * Finds the suppression of an address.
 * @param readers the address's keys for the publisher and for all publishers
 */
export async function findSuppression(
  executor: Executor,
  readers: readonly Reader[],
): Promise<{ reason: SuppressionReason; createdAt: Date } | null> {
  const { rows } = await executor.query<{ reason: SuppressionReason; created_at: Date }>(
    `select reason, created_at from message_suppressions
    where (publisher_id, address_key) in (select * from unnest($1::integer[], $2::uuid[]))
    order by publisher_id limit 1`,
    [readers.map(({ publisherId }) => publisherId), readers.map(({ addressKey }) => addressKey)],
  );
  return rows[0] === undefined ? null : { reason: rows[0].reason, createdAt: rows[0].created_at };
}

/**
 * Suppresses addresses. A complaint replaces any other reason. A suppression made in Perkwire can't be lifted by a mail
 * provider.
 * @param provider mail provider that reported the suppression, or null if it was made in Perkwire
 * @returns number of newly suppressed addresses
 */
export async function suppress(
  executor: Executor,
  readers: readonly Reader[],
  reason: SuppressionReason,
  nowMs: number,
  provider: string | null = null,
): Promise<number> {
  const { rows } = await executor.query<{ is_new: boolean }>(
    `insert into message_suppressions as s (publisher_id, address_key, reason, created_at, provider)
    select distinct publisher_id, address_key, $3, $4::timestamptz, $5
    from unnest($1::integer[], $2::uuid[]) as reader (publisher_id, address_key) order by 1, 2
    on conflict (publisher_id, address_key) do update set
      reason = case when excluded.reason = 'complained' then 'complained' else s.reason end,
      provider = case when excluded.provider is null then null else s.provider end
    returning xmax = 0 as is_new`,
    [
      readers.map(({ publisherId }) => publisherId),
      readers.map(({ addressKey }) => addressKey),
      reason,
      new Date(nowMs),
      provider,
    ],
  );
  return rows.filter((row) => row.is_new).length;
}

/**
 * Lifts the publisher's own suppression of an address.
 * @returns whether the address was suppressed by this publisher
 */
export async function unsuppress(executor: Executor, readers: readonly Reader[]): Promise<boolean> {
  const { rowCount } = await executor.query(
    `delete from message_suppressions
    where (publisher_id, address_key) in (select * from unnest($1::integer[], $2::uuid[]))`,
    [readers.map(({ publisherId }) => publisherId), readers.map(({ addressKey }) => addressKey)],
  );
  return (rowCount ?? 0) > 0;
}

/**
 * Maximum number of messages from a publisher to an address per day. The limit prevents abuse, because users can enter
 * other people's addresses.
 */
const maxADay = 20;

/** Whether the owner of the address has confirmed it. */
export async function isAddressConfirmed(executor: Executor, { publisherId, addressKey }: Reader): Promise<boolean> {
  const { rowCount } = await executor.query(
    `select from message_confirmations
    where publisher_id = $1 and address_key = $2 and confirmed_at is not null`,
    [publisherId, addressKey],
  );
  return rowCount === 1;
}

/**
 * Counts a message towards the daily limit of its address before it is sent. Messages to the same address are counted
 * one at a time, even across processes. If the message is not sent, `settle` reverts the count.
 * @returns whether the message is within the limit; always true when a message that was already counted is retried
 */
export function reserveDailySlot(
  pool: pg.Pool,
  { publisherId, addressKey }: Reader,
  id: string,
  nowMs: number,
): Promise<boolean> {
  return transaction(pool, async (executor) => {
    await executor.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `perk messages ${publisherId} ${addressKey}`,
    ]);
    // Messages sent by an earlier release have no counted_at value.
    const { rowCount } = await executor.query(
      `update perk_messages set counted_at = $4 where id = $3 and (
        select count(*) from perk_messages o
        where o.publisher_id = $1 and o.address_key = $2 and o.id <> $3
          and coalesce(o.counted_at, case when o.state = 'sent' then o.finished_at end) > $5
      ) < ${maxADay}`,
      [publisherId, addressKey, id, new Date(nowMs), new Date(nowMs - dayMs)],
    );
    return rowCount === 1;
  });
}

/**
 * Claims the right to ask for confirmation of an address. If several messages to an unconfirmed address are waiting,
 * only one of them triggers the confirmation request.
 * @returns whether this message triggers the request; the result is the same for every attempt
 */
export async function claimQuestion(
  executor: Executor,
  { publisherId, addressKey }: Reader,
  id: string,
  nowMs: number,
) {
  const { rowCount } = await executor.query(
    `insert into message_confirmations as c (publisher_id, address_key, asked_by, asked_at) values ($1, $2, $3, $4)
    on conflict (publisher_id, address_key) do update set asked_by = excluded.asked_by, asked_at = excluded.asked_at
    where c.confirmed_at is null and (c.asked_by = excluded.asked_by or c.asked_at < $5)`,
    [publisherId, addressKey, id, new Date(nowMs), new Date(nowMs - keepMs)],
  );
  return rowCount === 1;
}

/** Confirms an address and releases the messages that are waiting for the confirmation. */
export async function confirmAddress(executor: Executor, { publisherId, addressKey }: Reader, nowMs: number) {
  const at = new Date(nowMs);
  await executor.query(
    `update message_confirmations set confirmed_at = coalesce(confirmed_at, $3)
    where publisher_id = $1 and address_key = $2`,
    [publisherId, addressKey, at],
  );
  await executor.query(
    `update perk_messages set state = 'pending', due_at = $3, attempts = 0, keep_until = null
    where publisher_id = $1 and address_key = $2 and state = 'unconfirmed'`,
    [publisherId, addressKey, at],
  );
}
