import type pg from 'pg';
import { type Executor, transaction } from '../db/pool.ts';
import { forgetValues } from '../reports/forget-values.ts';
import type { UserKeys } from '../security/user-key.ts';
import { firstSessionId } from '../session-id.ts';
import { countMoves } from '../webhooks/delivery-counts.ts';
import type { ErasureCounts } from './erasures.ts';
import { findTraces, type Subject, type Trace } from './traces.ts';

export type Sweep = {
  subject: Subject;
  /** What is later stays. */
  until: Date;
  /** In the second sweep, a history that a new session may have begun stays. */
  isSecond: boolean;
  nowMs: number;
};

/** Sessions in one transaction (count). */
const maxSessions = 200;

/** Stands where the payload of an erased delivery was. */
const erasedPayload = Buffer.from('{"erased":true}');

/**
 * Removes a user: sessions and what was derived from them lose who they were of, what only was about the user goes. Counts
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
  if (subject.namedBy === 'pub_user_id') {
    await cancelReplays(pool, work);
    await onProgress({ ...nothing, deliveries: await eraseDeliveriesOfUser(pool, work) });
  }
  for (;;) {
    const traces = await findTraces(pool, subject, until, maxSessions);
    if (traces.length === 0) break;
    const deliveries = await eraseDeliveriesOfSessions(pool, traces, work);
    await onProgress({ ...(await transaction(pool, (executor) => eraseSessions(executor, userKeys, traces, work))), deliveries });
  }
  const wallet_items = await deleteWallet(pool, [subject.userKey], null, work);
  await onProgress({ ...nothing, wallet_items, histories: await deleteHistories(pool, [subject.userKey], work) });
}

const nothing: ErasureCounts = { sessions: 0, deliveries: 0, wallet_items: 0, histories: 0 };

async function eraseSessions(executor: Executor, userKeys: UserKeys, traces: readonly Trace[], work: Sweep): Promise<ErasureCounts> {
  const { publisherId } = work.subject;
  const ids = traces.map(({ id }) => id);
  const days = [...new Set(traces.map(({ day }) => day))];
  // First: whoever waits for a fold to end must not keep a user's rows from everybody.
  await forgetValues(executor, days, ids);
  const wallets = new Set(traces.flatMap(({ pubUserId }) => (pubUserId === null ? [] : [userKeys.of(publisherId, pubUserId)])));
  const wallet_items = await deleteWallet(executor, [...wallets], ids, work);
  const histories = await deleteHistories(executor, [...new Set(traces.flatMap(({ userKey }) => userKey ?? []))], work);
  await executor.query('update conversions set txn_id = null where day = any($1::date[]) and session_id = any($2::uuid[])', [days, ids]);
  const { rowCount } = await executor.query(
    `update sessions set user_key = null, pub_user_id = null, custom = null, macros = null, region = null, city = null, decision_inputs = null,
      usp = false, erased_at = $3
    where day = any($1::date[]) and id = any($2::uuid[])`,
    [days, ids, new Date(work.nowMs)],
  );
  return { sessions: rowCount ?? 0, deliveries: 0, wallet_items, histories };
}

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
    [keys, sessionIds, firstIdAfter(until)],
  );
  return rowCount ?? 0;
}

/** Locked in the order of the keys, like everybody does. */
async function deleteHistories(executor: Executor, keys: readonly string[], { until, isSecond }: Sweep): Promise<number> {
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

type DeliveryRow = { day: string; id: string };

async function eraseDeliveriesOfUser(pool: pg.Pool, work: Sweep): Promise<number> {
  const { publisherId, identifier } = work.subject;
  const { rows } = await pool.query<DeliveryRow>(
    `select day::text, id from deliveries where publisher_id = $1 and pub_user_id = $2
      and (session_id < $3::uuid or session_id is null and created_at <= $4) and erased_at is null`,
    [publisherId, identifier, firstIdAfter(work.until), work.until],
  );
  return eraseDeliveries(pool, rows, work);
}

async function eraseDeliveriesOfSessions(pool: pg.Pool, traces: readonly Trace[], work: Sweep): Promise<number> {
  const { rows } = await pool.query<DeliveryRow>(
    'select day::text, id from deliveries where session_id = any($1::uuid[]) and erased_at is null',
    [traces.map(({ id }) => id)],
  );
  return eraseDeliveries(pool, rows, work);
}

/**
 * One by one, the queue first: so no circle can form with workers that settle many at once. What was not sent yet never will
 * be; it has failed.
 */
async function eraseDeliveries(pool: pg.Pool, rows: readonly DeliveryRow[], { nowMs }: Sweep): Promise<number> {
  for (const { day, id } of rows) {
    await transaction(pool, async (executor) => {
      await executor.query('delete from delivery_queue where delivery_id = $1', [id]);
      await executor.query(
        `update delivery_attempts set request = null, response_headers = null, response_body = null, error_message = null
        where day = $1 and delivery_id = $2`,
        [day, id],
      );
      await executor.query(
        `with before as materialized (
          select status from deliveries where day = $1 and id = $2 for update
        ), erased as (
          update deliveries d set pub_user_id = null, payload = $3, erased_at = $4, finished_at = coalesce(finished_at, $4),
            status = case when d.status in ('pending', 'held') then 'failed' else d.status end
          from before where day = $1 and id = $2
          returning publisher_id, day, before.status as was, d.status as became
        )
        ${countMoves('select * from erased where was <> became')}`,
        [day, id, erasedPayload, new Date(nowMs)],
      );
    });
  }
  return rows.length;
}

/** Ids below it are of a time or earlier. */
const firstIdAfter = (time: Date): string => firstSessionId(time.getTime() + 1);
