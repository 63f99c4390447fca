import type { Executor } from '../platform/db/pool.ts';

/** Lease that lets this process store the messages of a partition. */
export type Lease = { partition: number; holder: string; streamCreated: string };

/** Time after which another process can take over a lease that was not renewed, in seconds. */
const leaseS = 5;

/** Creates the rows that record the position in each partition. */
export async function ensurePositions(executor: Executor, partitions: number): Promise<void> {
  await executor.query(
    `insert into event_log_positions (partition, stored_until)
    select generate_series(0, $1 - 1), now()
    on conflict do nothing`,
    [partitions],
  );
}

/**
 * Acquires or renews a lease. If the stream has been recreated, the position is reset to the start of the new stream.
 * @returns sequence number of the last stored message, or null if another process holds the lease
 */
export async function acquireLease(
  executor: Executor,
  { partition, holder, streamCreated }: Lease,
): Promise<number | null> {
  const { rows } = await executor.query<{ sequence: string }>(
    `update event_log_positions set holder = $2, leased_until = clock_timestamp() + interval '${leaseS} s',
      sequence = case when stream_created = $3 then sequence else 0 end, stream_created = $3
    where partition = $1 and (holder = $2 or leased_until < clock_timestamp())
    returning sequence`,
    [partition, holder, streamCreated],
  );
  return rows[0] === undefined ? null : Number(rows[0].sequence);
}

export type Step = { from: number; to: number; storedUntilMs: number };

/**
 * Advances the position, in the same transaction that stores the events.
 * @returns false if another process has stored them, or the database has lost its last transactions
 */
export async function movePosition(
  executor: Executor,
  { partition, holder, streamCreated }: Lease,
  { from, to, storedUntilMs }: Step,
): Promise<boolean> {
  const { rowCount } = await executor.query({
    name: 'move_event_log_position',
    text: `update event_log_positions set sequence = $4, stored_until = greatest(stored_until, $5),
        leased_until = clock_timestamp() + interval '${leaseS} s'
      where partition = $1 and holder = $2 and sequence = $3 and stream_created = $6`,
    values: [partition, holder, from, to, new Date(storedUntilMs), streamCreated],
  });
  return rowCount === 1;
}

/** Releases the lease, so that another process can continue immediately. */
export async function endLease(executor: Executor, { partition, holder }: Lease): Promise<void> {
  await executor.query(
    `update event_log_positions set holder = null, leased_until = '-infinity' where partition = $1 and holder = $2`,
    [partition, holder],
  );
}

/**
 * Returns a time in epoch milliseconds. All events that were in the log at that time have been stored in the database.
 */
export async function storedUntil(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ until: Date | null }>(
    'select min(stored_until) as until from event_log_positions',
  );
  return rows[0]?.until?.getTime() ?? 0;
}

export type Reject = { sequence: number; atMs: number; error: string; data: Uint8Array };

/** Moves a message that can't be stored to `event_log_rejects`. */
export async function setAside(
  executor: Executor,
  { partition, streamCreated }: Lease,
  { sequence, atMs, error, data }: Reject,
): Promise<void> {
  await executor.query(
    `insert into event_log_rejects (partition, stream_created, sequence, at, error, data)
    values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [partition, streamCreated, sequence, new Date(atMs), error.slice(0, maxErrorLength), Buffer.from(data)],
  );
}

const maxErrorLength = 1000;
