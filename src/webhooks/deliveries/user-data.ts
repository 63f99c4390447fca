import type pg from 'pg';
import { readSlices, transaction } from '../../platform/db/pool.ts';
import { firstUuid7After } from '../../platform/lib/uuid7.ts';
import {
  type EraseBeforeSessions,
  type EraseOfUser,
  type ErasureSweep,
  type ExportRows,
  type OnErased,
  sessionsOf,
} from '../../platform/user-data.ts';
import { interruptedColumns, isStarted, logInterrupted } from '../dispatcher/leases.ts';
import { countMoves } from './counts.ts';

/** Maximum number of deliveries to erase per batch. */
const pieceSize = 200;

/** Replacement for the payload of an erased delivery. */
const erasedPayload = Buffer.from('{"erased":true}');

/** Erases the deliveries whose payload contains the user ID. */
export const eraseDeliveriesOfUser: EraseOfUser = async (pool, sweep, onErased) => {
  const { subject, until } = sweep;
  if (subject.namedBy !== 'pub_user_id') return;
  await eraseInPieces(pool, sweep, onErased, {
    text: `select day::text, id from deliveries
    where publisher_id = $1 and pub_user_id = $2 and erased_at is null
      and (session_id < $3::uuid or session_id is null and created_at <= $4)
    limit ${pieceSize}`,
    values: [subject.publisherId, subject.identifier, firstUuid7After(until), until],
  });
};

/** Erases the deliveries of these sessions. */
export const eraseDeliveriesOfSessions: EraseBeforeSessions = (pool, sessions, sweep, onErased) =>
  eraseInPieces(pool, sweep, onErased, {
    text: `select day::text, id from deliveries
    where session_id = any($1::uuid[]) and erased_at is null
    limit ${pieceSize}`,
    values: [sessions.map(({ id }) => id)],
  });

type Delivery = { day: string; id: string };

/**
 * Erases deliveries in batches until none is left.
 * @param find query for the next batch of deliveries
 */
async function eraseInPieces(
  pool: pg.Pool,
  { nowMs }: ErasureSweep,
  onErased: OnErased,
  find: { text: string; values: unknown[] },
): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<Delivery>(find);
    if (rows.length === 0) return;
    for (const delivery of rows) await eraseDelivery(pool, delivery, nowMs);
    await onErased({ deliveries: rows.length });
  }
}

/**
 * Removes a delivery from the queue. If its endpoint uses strict order, the endpoint may have been waiting to retry
 * exactly this delivery, so that wait ends too.
 */
const dequeue = `with removed as (
    delete from delivery_queue q where delivery_id = $1
    returning ${interruptedColumns}, lane, ${isStarted('q')} as is_started
  ), logged as (
    ${logInterrupted('select * from removed where is_started')}
  )
  update endpoint_health h set not_before = null from removed r
  where h.endpoint_id = r.endpoint_id and h.not_before is not null and r.lane = 'live' and r.generation > 0`;

/**
 * Erases a single delivery. Each delivery has its own transaction, which locks the queue row first, so that it cannot
 * deadlock with workers that settle many deliveries at once. A delivery that has not been sent is marked as failed.
 * While the transaction waits for the row lock, a redelivery may queue the delivery again. It is therefore removed from
 * the queue a second time under the lock.
 */
const eraseDelivery = (pool: pg.Pool, { day, id }: Delivery, nowMs: number): Promise<void> =>
  transaction(pool, async (executor) => {
    await executor.query(dequeue, [id]);
    await executor.query('select from deliveries where day = $1 and id = $2 for update', [day, id]);
    await executor.query(dequeue, [id]);
    await executor.query(
      `update delivery_attempts
      set request = null, response_headers = null, response_body = null, error_message = null
      where day = $1 and delivery_id = $2`,
      [day, id],
    );
    await executor.query(
      `with before as materialized (
        select status from deliveries where day = $1 and id = $2
      ), erased as (
        update deliveries d
        set pub_user_id = null, payload = $3, erased_at = $4, finished_at = coalesce(finished_at, $4),
          status = case when d.status in ('pending', 'held') then 'failed' else d.status end
        from before where day = $1 and id = $2
        returning publisher_id, day, before.status as was, d.status as became
      )
      ${countMoves('select * from erased where was <> became')}`,
      [day, id, erasedPayload, new Date(nowMs)],
    );
  });

const selectSql = `select id, event, session_id, status, created_at, convert_from(payload, 'UTF8')::json as payload
  from deliveries where publisher_id = $1 and erased_at is null`;

/** Exports the deliveries from the user's sessions, followed by deliveries whose payload contains the user ID. */
export const exportDeliveries: ExportRows = async function* (executor, scope) {
  const { publisherId, namedBy, identifier } = scope.subject;
  const pubUserId = namedBy === 'pub_user_id' ? identifier : null;
  for (const [, ids] of sessionsOf(scope))
    yield* readSlices(
      executor,
      `${selectSql} and session_id = any($2::uuid[]) and ($3::text is null or pub_user_id is distinct from $3)
      order by id`,
      [publisherId, ids, pubUserId],
    );
  if (pubUserId !== null)
    yield* readSlices(executor, `${selectSql} and pub_user_id = $2 order by day, id`, [publisherId, pubUserId]);
};
