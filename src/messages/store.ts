import type { MessagePerk, Reminder } from '../perks/perk-messages.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs, minuteMs } from '../platform/lib/time.ts';
import { type Problem, problem, storedProblem } from '../platform/problem.ts';
import { sealedColumn } from '../platform/security/sealed-column.ts';
import type { FailedBecause } from './failure.ts';
import type { Delivery } from './settings.ts';

export type MessageKind = 'perks' | 'reminder';

/**
 * Content of a message. It is stored encrypted until the message is sent. The perk of a reminder is read from the
 * wallet instead.
 */
export type MessageContent = { email: string | null; language: string; pubUserId?: string; perks: MessagePerk[] };

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
  addressKey: string;
  hasAddress: boolean;
  sealed: Buffer;
  nowMs: number;
  /** For a reminder, the saved offer and its end. Null for other messages. */
  reminder: Reminder | null;
};

/**
 * Stores messages for publishers that have messages enabled. A user gets only one reminder per offer, and none if the
 * time of the reminder has already passed.
 */
export async function insertMessages(executor: Executor, messages: readonly NewMessage[]): Promise<void> {
  const timeOrNull = (ms: number | undefined): Date | null => (ms === undefined ? null : new Date(ms));
  await executor.query({
    name: 'insert_perk_messages',
    text: `insert into perk_messages (
  id, publisher_id, session_id, user_key, address_key, content_sealed, created_at, kind, offer_id, due_at, state
)
select m.id, m.publisher_id, m.session_id, m.user_key, m.address_key, m.content_sealed, m.created_at,
  case when m.ends_at is null then 'perks' else 'reminder' end, m.offer_id, due.at, 'pending'
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::uuid[], $5::uuid[], $6::bytea[], $7::timestamptz[],
  $8::boolean[], $9::integer[], $10::timestamptz[]
) as m (id, publisher_id, session_id, user_key, address_key, content_sealed, created_at, has_address, offer_id, ends_at)
join perk_message_settings s on s.publisher_id = m.publisher_id and s.enabled
cross join lateral (
  select case when m.ends_at is null then m.created_at else m.ends_at - s.reminder_hours * interval '1 hour' end as at
) due
where (m.has_address or s.delivery = 'webhook') and due.at >= m.created_at
on conflict do nothing`,
    values: [
      messages.map(({ id }) => id),
      messages.map(({ publisherId }) => publisherId),
      messages.map(({ sessionId }) => sessionId),
      messages.map(({ userKey }) => userKey),
      messages.map(({ addressKey }) => addressKey),
      messages.map(({ sealed }) => sealed),
      messages.map(({ nowMs }) => new Date(nowMs)),
      messages.map(({ hasAddress }) => hasAddress),
      messages.map(({ reminder }) => reminder?.offerId ?? null),
      messages.map(({ reminder }) => timeOrNull(reminder?.endsAtMs)),
    ],
  });
}

/** Stores messages as sent at the time of their creation. */
export async function insertSentMessages(executor: Executor, messages: readonly NewMessage[]): Promise<void> {
  await executor.query(
    `insert into perk_messages (
  id, publisher_id, session_id, user_key, address_key, created_at, finished_at, kind, state, attempts
)
select m.*, m.created_at, 'perks', 'sent', 1
from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::uuid[], $5::uuid[], $6::timestamptz[])
  as m (id, publisher_id, session_id, user_key, address_key, created_at)
on conflict do nothing`,
    [
      messages.map(({ id }) => id),
      messages.map(({ publisherId }) => publisherId),
      messages.map(({ sessionId }) => sessionId),
      messages.map(({ userKey }) => userKey),
      messages.map(({ addressKey }) => addressKey),
      messages.map(({ nowMs }) => new Date(nowMs)),
    ],
  );
}

/** Time for which a message is leased to a process, in milliseconds. After that, another process can send it. */
const leaseMs = 2 * minuteMs;

export type DueMessage = {
  id: string;
  publisher_id: number;
  session_id: string;
  kind: MessageKind;
  offer_id: number | null;
  content_sealed: Buffer;
  attempts: number;
  publisher: string;
  enabled: boolean;
  from_name: string;
  reply_to: string | null;
  delivery: Delivery;
  double_opt_in: boolean;
  reminder_hours: number | null;
};

/** Claims due messages. If a process dies while sending a message, another process sends it after the lease expires. */
export async function claimDue(executor: Executor, nowMs: number, limit: number): Promise<DueMessage[]> {
  const { rows } = await executor.query<DueMessage>({
    name: 'take_due_perk_messages',
    text: `with due as (
  select id from perk_messages where due_at <= $1 order by due_at limit $3 for update skip locked
), taken as (
  update perk_messages m set attempts = m.attempts + 1, due_at = $2 from due where m.id = due.id
  returning m.id, m.publisher_id, m.session_id, m.kind, m.offer_id, m.content_sealed, m.attempts
)
select t.*, p.name as publisher, coalesce(s.enabled, false) as enabled, coalesce(s.from_name, '') as from_name,
  s.reply_to, coalesce(s.delivery, 'smtp') as delivery, coalesce(s.double_opt_in, false) as double_opt_in,
  s.reminder_hours
from taken t join publishers p on p.id = t.publisher_id
left join perk_message_settings s on s.publisher_id = t.publisher_id`,
    values: [new Date(nowMs), new Date(nowMs + leaseMs), limit],
  });
  return rows;
}

export type Outcome =
  | { state: 'sent' | 'suppressed' }
  /** The message was not sent, because it had become obsolete. */
  | { state: 'dropped'; error: Problem }
  /** `isKept` is whether the content is retained, so that the message can be sent again. */
  | ({ state: 'failed'; error: Problem; isKept: boolean } & Refused)
  | { state: 'unconfirmed' }
  | ({ state: 'pending'; error: Problem | null; dueMs: number; attempts?: number } & Partial<Refused>);

type Refused = { refusal: FailedBecause | null; reply: string | null };

/**
 * Time for which the content of a failed message, or of a message to an unconfirmed address, is retained, in
 * milliseconds.
 */
export const keepMs = 7 * dayMs;

/**
 * Records the outcome of an attempt, unless another process has claimed the message in the meantime.
 * @returns whether the outcome was recorded
 */
export async function settle(
  executor: Executor,
  { id, attempts }: { id: string; attempts: number },
  outcome: Outcome,
  nowMs: number,
): Promise<boolean> {
  const isPending = outcome.state === 'pending';
  const isHeld = outcome.state === 'unconfirmed' || (outcome.state === 'failed' && outcome.isKept);
  const { rowCount } = await executor.query(
    `update perk_messages set state = $3, error = $4, due_at = $5, finished_at = $6, attempts = $7, keep_until = $8,
      content_sealed = case when $9 then content_sealed end, refusal = $10, reply = $11,
      counted_at = case when $3 = 'sent' then counted_at end
    where id = $1 and attempts = $2 and state = 'pending'`,
    [
      id,
      attempts,
      outcome.state,
      'error' in outcome && outcome.error !== null ? storedProblem(outcome.error) : null,
      isPending ? new Date(outcome.dueMs) : null,
      isPending || outcome.state === 'unconfirmed' ? null : new Date(nowMs),
      isPending ? (outcome.attempts ?? attempts) : attempts,
      isHeld ? new Date(nowMs + keepMs) : null,
      isPending || isHeld,
      'refusal' in outcome ? outcome.refusal : null,
      'reply' in outcome ? outcome.reply : null,
    ],
  );
  return rowCount === 1;
}

/** Deletes message contents whose retention has ended. Messages to addresses that were never confirmed are dropped. */
export async function removeOldContents(executor: Executor, nowMs: number): Promise<void> {
  await executor.query(
    `update perk_messages set content_sealed = null, keep_until = null, finished_at = coalesce(finished_at, $1),
      error = case state when 'unconfirmed' then $2 else error end,
      state = case state when 'unconfirmed' then 'dropped' else state end
    where keep_until <= $1`,
    [new Date(nowMs), storedProblem(problem('mailUnconfirmed'))],
  );
}

/**
 * Queues all failed messages again whose content is retained.
 * @returns number of messages
 */
export async function sendAllAgain(executor: Executor, publisherId: number, nowMs: number): Promise<number> {
  const { rowCount } = await executor.query(
    `update perk_messages set state = 'pending', due_at = $2, attempts = 0, keep_until = null, finished_at = null
    where publisher_id = $1 and content_sealed is not null and state = 'failed'`,
    [publisherId, new Date(nowMs)],
  );
  return rowCount ?? 0;
}

/**
 * Queues a failed message again, or makes a pending one due immediately.
 * @returns false if there is no such message, or its content is no longer stored
 */
export async function sendAgain(executor: Executor, publisherId: number, id: string, nowMs: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    `update perk_messages set state = 'pending', due_at = $3, attempts = 0, keep_until = null, finished_at = null
    where publisher_id = $1 and id = $2 and content_sealed is not null and state in ('pending', 'failed')`,
    [publisherId, id, new Date(nowMs)],
  );
  return rowCount === 1;
}

/** A publisher's pending or failed messages that were refused because of the mail server or the sender. */
export type RefusedMessages = {
  publisherId: number;
  count: number;
  /** Time when the oldest of these messages was requested. */
  since: Date;
  /** Reason for which the newest of these messages was refused. */
  refusal: FailedBecause;
  reply: string | null;
};

/**
 * Number of attempts after which a temporary refusal counts as lasting. The third attempt is made five minutes after
 * the first.
 */
const lastingAttempts = 3;

/**
 * Finds messages whose problem must be fixed at the relay, grouped by publisher. A permanent refusal counts
 * immediately. A temporary refusal or an unreachable server counts after several attempts. Messages count until they
 * are sent or abandoned.
 */
export async function findRefusedMessages(executor: Executor): Promise<RefusedMessages[]> {
  const { rows } = await executor.query<RefusedMessages>(
    `select publisher_id as "publisherId", count(*)::integer as count, min(created_at) as since,
      (array_agg(refusal order by id desc))[1] as refusal, (array_agg(reply order by id desc))[1] as reply
    from perk_messages
    where refusal in ('sender', 'content', 'unreachable') and content_sealed is not null
      and (state = 'failed' or reply like '5%' or attempts >= ${lastingAttempts})
    group by publisher_id order by publisher_id`,
  );
  return rows;
}
