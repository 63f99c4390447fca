import { readSlices } from '../platform/db/pool.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs } from '../platform/lib/time.ts';
import { firstUuid7After } from '../platform/lib/uuid7.ts';
import type { EraseOfUser, EraseWithSessions, ExportRows, UserSubject } from '../platform/user-data.ts';
import type { ReaderKeys } from './outbox.ts';

/** Deletes old messages. They are retained as long as webhook deliveries. */
export const applyMessageRetention: RetentionStep = async (pool, { retentionDeliveryDays }, nowMs) => {
  const { rowCount } = await pool.query(
    'delete from perk_messages where created_at < $1 and due_at is null and keep_until is null',
    [new Date(nowMs - retentionDeliveryDays * dayMs)],
  );
  // Records of applied calls can be deleted after a day. Older calls can't be replayed, because their signatures are no
  // longer accepted.
  await pool.query('delete from message_feedback_calls where received_at < $1', [new Date(nowMs - dayMs)]);
  return { perkMessages: rowCount ?? 0 };
};

/**
 * Returns SQL that deletes a user's messages and the confirmation records of their addresses. Unsubscriptions are
 * retained.
 */
const eraseSql = (where: string): string => `with gone as (
  delete from perk_messages where ${where} returning publisher_id, address_key
)
delete from message_confirmations c using gone
where c.publisher_id = gone.publisher_id and c.address_key = gone.address_key`;

export const eraseMessagesOfUser =
  (readerKeys: ReaderKeys): EraseOfUser =>
  async (pool, { subject, until }, onErased) => {
    await pool.query(eraseSql(`(user_key = any($1::uuid[]) or ${toAddressSql}) and session_id < $4::uuid`), [
      subject.userKeys,
      subject.publisherId,
      addressKeysOf(readerKeys, subject),
      firstUuid7After(until),
    ]);
    await onErased({});
  };

/* $2: publisher, $3: keys of an address. */
const toAddressSql = '(publisher_id = $2 and address_key = any($3::uuid[]))';

/**
 * Returns the keyed hashes of the e-mail address by which the data subject is identified, or an empty array if it is
 * another identifier.
 */
const addressKeysOf = (readerKeys: ReaderKeys, { publisherId, namedBy, identifier }: UserSubject): string[] =>
  namedBy === 'email'
    ? readerKeys(publisherId, { email: identifier })
        .filter((reader) => reader.publisherId === publisherId)
        .map(({ addressKey }) => addressKey)
    : [];

export const eraseMessagesOfSessions: EraseWithSessions = async (executor, sessions) => {
  await executor.query(eraseSql('user_key = any($1::uuid[]) and session_id = any($2::uuid[])'), [
    [...new Set(sessions.flatMap(({ pubUserKeys }) => pubUserKeys))],
    sessions.map(({ id }) => id),
  ]);
  return {};
};

/**
 * Exports a user's perk e-mails: those from the user's sessions, or those sent to the address that identifies the user.
 */
export const exportMessages =
  (readerKeys: ReaderKeys): ExportRows =>
  (executor, { subject, pubUserKeys, sessionIds }) =>
    readSlices(
      executor,
      `select id, session_id, kind, state, created_at, finished_at from perk_messages
      where (user_key = any($1::uuid[]) and (not $5 or session_id = any($4::uuid[]))) or ${toAddressSql} order by id`,
      [pubUserKeys, subject.publisherId, addressKeysOf(readerKeys, subject), sessionIds, subject.namedBy === 'ad_fp'],
    );
