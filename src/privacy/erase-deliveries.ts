import type pg from 'pg';
import { transaction } from '../platform/db/pool.ts';
import { firstUuid7After } from '../platform/lib/uuid7.ts';
import { countMoves } from '../webhooks/deliveries/counts.ts';
import type { Sweep } from './erase.ts';

/** Called after each piece. */
type OnProgress = (deliveries: number) => Promise<void>;

/** Deliveries in one piece (count). */
const pieceSize = 200;

/** Stands where the payload of an erased delivery was. */
const erasedPayload = Buffer.from('{"erased":true}');

/** Erases what was promised of a user by name. */
export const eraseDeliveriesOfUser = (pool: pg.Pool, work: Sweep, onProgress: OnProgress): Promise<void> =>
  erasePieces(
    pool,
    {
      text: `select day::text, id from deliveries where publisher_id = $1 and pub_user_id = $2
      and (session_id < $3::uuid or session_id is null and created_at <= $4) and erased_at is null limit ${pieceSize}`,
      values: [work.subject.publisherId, work.subject.identifier, firstUuid7After(work.until), work.until],
    },
    work,
    onProgress,
  );

/** Erases what was promised because of sessions. */
export const eraseDeliveriesOfSessions = (
  pool: pg.Pool,
  sessions: readonly { id: string }[],
  work: Sweep,
  onProgress: OnProgress,
): Promise<void> =>
  erasePieces(
    pool,
    {
      text: `select day::text, id from deliveries where session_id = any($1::uuid[]) and erased_at is null limit ${pieceSize}`,
      values: [sessions.map(({ id }) => id)],
    },
    work,
    onProgress,
  );

/** @param statement finds a piece of what is left */
async function erasePieces(
  pool: pg.Pool,
  statement: { text: string; values: unknown[] },
  { nowMs }: Sweep,
  onProgress: OnProgress,
) {
  for (;;) {
    const { rows } = await pool.query<Delivery>(statement);
    if (rows.length === 0) return;
    for (const delivery of rows) await eraseDelivery(pool, delivery, nowMs);
    await onProgress(rows.length);
  }
}

type Delivery = { day: string; id: string };

/**
 * One by one, the queue first: so no circle can form with workers that settle many at once. What was not sent yet never
 * will
 * be; it has failed.
 */
const eraseDelivery = (pool: pg.Pool, { day, id }: Delivery, nowMs: number): Promise<void> =>
  transaction(pool, async (executor) => {
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
