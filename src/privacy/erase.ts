import type pg from 'pg';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { firstUuid7After } from '../platform/lib/uuid7.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import { eraseValues } from '../reports/rollup/erase-values.ts';
import { type Emptied, findEmptied, noteEmptied } from './emptied.ts';
import { eraseDeliveriesOfSessions, eraseDeliveriesOfUser } from './erase-deliveries.ts';
import type { ErasureCounts } from './erasures.ts';
import { findTraces, type Subject, type Trace } from './traces.ts';

export type Sweep = {
  erasureId: string;
  subject: Subject;
  /** What is later stays. */
  until: Date;
  /** In the second sweep, a history that a new session may have begun stays. */
  isSecond: boolean;
  nowMs: number;
};

/** Sessions in one transaction (count). */
const maxSessions = 200;

/**
 * Removes a user: sessions and what was derived from them lose who they were of, what only was about the user goes.
 * Counts
 * and money stay. May be broken off anywhere and done again: what names the user goes last.
 * @param onProgress called after each piece, with what it removed
 */
export async function sweep(
  pool: pg.Pool,
  userKeys: UserKeys,
  work: Sweep,
  onProgress: (done: ErasureCounts) => Promise<void>,
): Promise<void> {
  const { subject, until } = work;
  const onDeliveries = (deliveries: number): Promise<void> => onProgress({ ...nothing, deliveries });
  if (subject.namedBy === 'pub_user_id') {
    await cancelReplays(pool, work);
    await eraseDeliveriesOfUser(pool, work, onDeliveries);
  }
  for (;;) {
    const traces = await findTraces(pool, subject, until, maxSessions);
    if (traces.length === 0) break;
    const found = traces.map((trace) => toEmptied(userKeys, subject, trace));
    await eraseDeliveriesOfSessions(pool, found, work, onDeliveries);
    await onProgress(await transaction(pool, (executor) => eraseSessions(executor, found, work)));
  }
  if (work.isSecond) await eraseWhatCameSince(pool, work, onProgress);
  const wallet_items = await deleteWallet(pool, [subject.userKey], null, work);
  await onProgress({ ...nothing, wallet_items, histories: await deleteHistories(pool, [subject.userKey], work) });
}

/** What calls under way have written because of sessions that the first sweep had emptied. */
async function eraseWhatCameSince(
  pool: pg.Pool,
  work: Sweep,
  onProgress: (done: ErasureCounts) => Promise<void>,
): Promise<void> {
  for (let after: string | null = null; ; ) {
    const emptied = await findEmptied(pool, work, after, maxSessions);
    if (emptied.length === 0) return;
    await eraseDeliveriesOfSessions(pool, emptied, work, (deliveries) => onProgress({ ...nothing, deliveries }));
    await onProgress(await transaction(pool, (executor) => eraseDerived(executor, emptied, work)));
    after = emptied.at(-1)?.id ?? null;
  }
}

const nothing: ErasureCounts = { sessions: 0, deliveries: 0, wallet_items: 0, histories: 0 };

const toEmptied = (userKeys: UserKeys, { publisherId }: Subject, { day, id, userKey, pubUserId }: Trace): Emptied => ({
  day,
  id,
  userKey,
  walletKey: pubUserId === null ? null : userKeys.of(publisherId, pubUserId),
});

async function eraseSessions(executor: Executor, found: readonly Emptied[], work: Sweep): Promise<ErasureCounts> {
  const [days, ids] = keysOf(found);
  // First: whoever waits for a fold to end must not keep a user's rows from everybody.
  await eraseValues(executor, days, ids);
  const derived = await eraseDerived(executor, found, work);
  if (!work.isSecond) await noteEmptied(executor, work, found);
  const { rowCount } = await executor.query(
    `update sessions set user_key = null, pub_user_id = null, custom = null, macros = null, region = null, city = null, decision_inputs = null,
      usp = false, erased_at = $3
    where day = any($1::date[]) and id = any($2::uuid[])`,
    [days, ids, new Date(work.nowMs)],
  );
  return { ...derived, sessions: rowCount ?? 0 };
}

/** What was written because of sessions, beside deliveries. */
async function eraseDerived(executor: Executor, sessions: readonly Emptied[], work: Sweep): Promise<ErasureCounts> {
  const [days, ids] = keysOf(sessions);
  const unique = (keys: (string | null)[]): string[] => [...new Set(keys.filter((key) => key !== null))];
  const wallet_items = await deleteWallet(executor, unique(sessions.map(({ walletKey }) => walletKey)), ids, work);
  const histories = await deleteHistories(executor, unique(sessions.map(({ userKey }) => userKey)), work);
  await executor.query(
    'update conversions set txn_id = null where day = any($1::date[]) and session_id = any($2::uuid[])',
    [days, ids],
  );
  return { ...nothing, wallet_items, histories };
}

const keysOf = (sessions: readonly Emptied[]): [days: string[], ids: string[]] => [
  [...new Set(sessions.map(({ day }) => day))],
  sessions.map(({ id }) => id),
];

/** Saved offers of these users: those of the sessions, or (`null`) of every session up to then. */
async function deleteWallet(
  executor: Executor,
  keys: readonly string[],
  sessionIds: readonly string[] | null,
  { until }: Sweep,
): Promise<number> {
  const { rowCount } = await executor.query(
    `delete from wallet_items where user_key = any($1::uuid[])
      and case when $2::uuid[] is null then session_id < $3::uuid else session_id = any($2::uuid[]) end`,
    [keys, sessionIds, firstUuid7After(until)],
  );
  return rowCount ?? 0;
}

/** Locked in the order of the keys, like everybody does. */
async function deleteHistories(
  executor: Executor,
  keys: readonly string[],
  { until, isSecond }: Sweep,
): Promise<number> {
  const { rowCount } = await executor.query(
    `delete from user_history where user_key = any(array(
      select user_key from user_history h where user_key = any($1::uuid[])
        and not ($2 and exists (select from sessions s where s.user_key = h.user_key and s.created_at > $3))
      order by user_key for update))`,
    [keys, isSecond, until],
  );
  return rowCount ?? 0;
}

/** Replays of the user's deliveries have nothing left to send. */
async function cancelReplays(pool: pg.Pool, { subject, nowMs }: Sweep): Promise<void> {
  await pool.query(
    `update replay_jobs set status = 'cancelled', finished_at = $3, updated_at = $3, filter = filter - 'pubUserId'
    where publisher_id = $1 and filter ->> 'pubUserId' = $2 and status = 'running'`,
    [subject.publisherId, subject.identifier, new Date(nowMs)],
  );
}
