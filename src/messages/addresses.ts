import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { keepMs } from './store.ts';

/** Who reads the messages of a publisher; the address by its keyed hash. */
export type Reader = { publisherId: number; addressKey: string };

/** In place of a publisher: of all. An address that does not work, or complained, gets messages of none. */
export const allPublishers = 0;

export const suppressionReasons = ['unsubscribed', 'bounced', 'complained', 'added'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/** @param readers the keys of the address, at the publisher and at all */
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

/** @returns how many were not suppressed before */
export async function suppress(
  executor: Executor,
  readers: readonly Reader[],
  reason: SuppressionReason,
  nowMs: number,
): Promise<number> {
  const { rowCount } = await executor.query(
    `insert into message_suppressions (publisher_id, address_key, reason, created_at)
    select *, $3, $4 from unnest($1::integer[], $2::uuid[]) on conflict do nothing`,
    [
      readers.map(({ publisherId }) => publisherId),
      readers.map(({ addressKey }) => addressKey),
      reason,
      new Date(nowMs),
    ],
  );
  return rowCount ?? 0;
}

/** @returns whether it was suppressed by this publisher */
export async function unsuppress(executor: Executor, readers: readonly Reader[]): Promise<boolean> {
  const { rowCount } = await executor.query(
    `delete from message_suppressions
    where (publisher_id, address_key) in (select * from unnest($1::integer[], $2::uuid[]))`,
    [readers.map(({ publisherId }) => publisherId), readers.map(({ addressKey }) => addressKey)],
  );
  return (rowCount ?? 0) > 0;
}

/** Messages that an address gets of a publisher in a day (count): anyone may type in the address of another. */
const maxADay = 20;

/** Whether the owner confirmed the address, and whether it has had as many messages as it gets in a day. */
export async function readAddress(executor: Executor, { publisherId, addressKey }: Reader, nowMs: number) {
  const { rows } = await executor.query<{ confirmed: boolean; sent: number }>(
    `select exists (
      select from message_confirmations where publisher_id = $1 and address_key = $2 and confirmed_at is not null
    ) as confirmed, (
      select count(*)::integer from perk_messages
      where publisher_id = $1 and address_key = $2 and state = 'sent' and finished_at > $3
    ) as sent`,
    [publisherId, addressKey, new Date(nowMs - dayMs)],
  );
  const [{ confirmed = false, sent = 0 } = {}] = rows;
  return { isConfirmed: confirmed, isFull: sent >= maxADay };
}

/**
 * Of many messages to an address that is not confirmed, one asks its owner. @returns whether it is this one; on every
 * try the same
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

/** Messages that waited for it are sent. */
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
