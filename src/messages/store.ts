import type { Executor } from '../platform/db/pool.ts';
import { minuteMs } from '../platform/lib/time.ts';
import { sealedColumn } from '../platform/security/sealed-column.ts';

/** A perk in a message: texts as the user was shown them. */
export type MessagePerk = {
  title: string;
  description: string;
  advertiser: string;
  /** Where the perk is used; '': nowhere. */
  url: string;
  /** null: the offer has codes, and none was left; undefined: it has none. */
  coupon?: { code: string; expires_at: string | null; terms: string } | null | undefined;
};

/** What is sealed of a message until it is sent. */
export type MessageContent = { email: string; language: string; perks: MessagePerk[] };

export const contentContext = (id: string): string => `perk-message ${id}`;

export const sealedMessages = sealedColumn({
  table: 'perk_messages',
  column: 'content_sealed',
  key: ['id'],
  context: ([id]) => contentContext(String(id)),
});

export type NewMessage = {
  id: string;
  publisherId: number;
  sessionId: string;
  userKey: string;
  sealed: Buffer;
  nowMs: number;
};

/** Stores messages of publishers that send some. */
export async function insertMessages(executor: Executor, messages: readonly NewMessage[]): Promise<void> {
  await executor.query({
    name: 'insert_perk_messages',
    text: `insert into perk_messages (id, publisher_id, session_id, user_key, content_sealed, created_at, due_at, state)
select m.*, m.created_at, 'pending'
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::uuid[], $5::bytea[], $6::timestamptz[])
  as m (id, publisher_id, session_id, user_key, content_sealed, created_at)
join perk_message_settings s on s.publisher_id = m.publisher_id and s.enabled`,
    values: [
      messages.map(({ id }) => id),
      messages.map(({ publisherId }) => publisherId),
      messages.map(({ sessionId }) => sessionId),
      messages.map(({ userKey }) => userKey),
      messages.map(({ sealed }) => sealed),
      messages.map(({ nowMs }) => new Date(nowMs)),
    ],
  });
}

/** How long a process may take to send one before another tries (milliseconds). */
const leaseMs = 2 * minuteMs;

export type DueMessage = {
  id: string;
  publisher_id: number;
  content_sealed: Buffer;
  attempts: number;
  publisher: string;
  from_name: string;
  reply_to: string | null;
};

/** Takes messages that are due; a process that dies with one leaves it to another when the lease is over. */
export async function takeDue(executor: Executor, nowMs: number, limit: number): Promise<DueMessage[]> {
  const { rows } = await executor.query<DueMessage>({
    name: 'take_due_perk_messages',
    text: `with due as (
  select id from perk_messages where due_at <= $1 order by due_at limit $3 for update skip locked
), taken as (
  update perk_messages m set attempts = m.attempts + 1, due_at = $2 from due where m.id = due.id
  returning m.id, m.publisher_id, m.content_sealed, m.attempts
)
select t.*, p.name as publisher, coalesce(s.from_name, '') as from_name, s.reply_to
from taken t join publishers p on p.id = t.publisher_id
left join perk_message_settings s on s.publisher_id = t.publisher_id`,
    values: [new Date(nowMs), new Date(nowMs + leaseMs), limit],
  });
  return rows;
}

export type Outcome =
  | { state: 'sent' | 'suppressed' }
  | { state: 'failed'; error: string }
  | { state: 'pending'; error: string; dueMs: number };

/** Records what became of an attempt, unless another process took the message meanwhile. */
export async function settle(
  executor: Executor,
  { id, attempts }: Pick<DueMessage, 'id' | 'attempts'>,
  outcome: Outcome,
  nowMs: number,
): Promise<void> {
  const isPending = outcome.state === 'pending';
  await executor.query(
    `update perk_messages set state = $3, error = $4, due_at = $5, finished_at = $6,
      content_sealed = case when $7 then content_sealed end
    where id = $1 and attempts = $2 and state = 'pending'`,
    [
      id,
      attempts,
      outcome.state,
      'error' in outcome ? outcome.error : null,
      isPending ? new Date(outcome.dueMs) : null,
      isPending ? null : new Date(nowMs),
      isPending,
    ],
  );
}

export async function isSuppressed(executor: Executor, publisherId: number, addressKeys: readonly string[]) {
  const { rowCount } = await executor.query(
    'select from message_suppressions where publisher_id = $1 and address_key = any($2::uuid[])',
    [publisherId, addressKeys],
  );
  return (rowCount ?? 0) > 0;
}

export type SuppressionReason = 'unsubscribed' | 'bounced' | 'complained';

export async function suppress(
  executor: Executor,
  { publisherId, addressKey }: { publisherId: number; addressKey: string },
  reason: SuppressionReason,
  nowMs: number,
): Promise<void> {
  await executor.query(
    `insert into message_suppressions (publisher_id, address_key, reason, created_at) values ($1, $2, $3, $4)
    on conflict do nothing`,
    [publisherId, addressKey, reason, new Date(nowMs)],
  );
}
