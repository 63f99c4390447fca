import { randomInt } from 'node:crypto';
import type pg from 'pg';
import { leaseGraceMs } from './claim/lease.ts';

/** First key of the advisory locks of workers; the second is the worker's id. */
export const workerLockClass = 1_886_544_747;

/** Locks an id that is not in use. Ids come from a secure random source: two workers must never share one. */
export async function lockNewId(client: pg.Client): Promise<number> {
  for (;;) {
    const id = randomInt(1, 2 ** 31 - 1);
    const { rows } = await client.query<{ ok: boolean }>('select pg_try_advisory_lock($1, $2) as ok', [
      workerLockClass,
      id,
    ]);
    if (rows[0]?.ok) return id;
  }
}

/**
 * Registers the worker, after it has its lock. Leases under its previous id become its own again and are extended.
 */
export async function register(client: pg.Client, id: number, previousId: number | null): Promise<void> {
  // A peer that vanished is noticed by its keep-alives within about 11 s, not on Unix sockets.
  await client.query('set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3');
  await client.query(
    `with previous as (delete from dispatcher_workers where id = $2),
      adopted as (
        update delivery_queue
        set worker_id = $1, lease_until = greatest(lease_until, now() + ${leaseGraceMs} * interval '1 ms')
        where worker_id = $2
      )
    insert into dispatcher_workers (id) values ($1)`,
    [id, previousId],
  );
}

/** Registered workers without their lock. */
export async function findDeadWorkers(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>({
    name: 'dispatcher-dead',
    text: `select w.id from dispatcher_workers w where not exists (
      select from pg_locks l
      where l.locktype = 'advisory' and l.database = (select oid from pg_database where datname = current_database())
        and l.classid = $1::int::oid and l.objid = w.id::oid and l.objsubid = 2 and l.granted
    )`,
    values: [workerLockClass],
  });
  return rows.map((row) => row.id);
}

/** Frees the leases of these workers and removes them. */
export async function freeLeases(client: pg.Client, workerIds: readonly number[]): Promise<number> {
  const { rowCount } = await client.query(
    `with removed as (delete from dispatcher_workers where id = any($1))
    update delivery_queue set lease_until = null, worker_id = null where worker_id = any($1)`,
    [workerIds],
  );
  return rowCount ?? 0;
}
