import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoggedEvent } from '../catalog/types.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { isDatabaseUnavailable } from '../platform/db/pool.ts';
import { retryStart } from '../platform/db/retry-start.ts';
import { type OpenEventLog, partitions } from './event-log.ts';
import type { LogConnection } from './jetstream.ts';
import { decodeMessage, LaterVersionError, UnreadableMessageError } from './message.ts';
import { type Decoded, type MessageStore, openMessageStore, type StoreDeps } from './message-store.ts';
import { acquireLease, endLease, ensurePositions, type Lease } from './positions.ts';

type ConsumerDeps = StoreDeps & { dbHealth: DatabaseHealth };

/** Approximate maximum number of events per transaction. */
const maxEvents = 2_000;
/** Pause before retrying to acquire or renew the lease of a partition, in milliseconds. */
const retryMs = 500;
/** Interval at which a partition without new messages is recorded as idle, in milliseconds. */
const idleMs = 1_000;

/**
 * Starts the event log consumer, which stores each message in the database exactly once. Each partition is consumed by
 * one process at a time (docs/operations.md#event-log).
 */
export async function startLogConsumer(deps: ConsumerDeps, log: OpenEventLog): Promise<{ stop: () => Promise<void> }> {
  const holder = randomUUID();
  const stopping = new AbortController();
  await retryStart(() => ensurePositions(deps.pool, partitions));
  const running = Array.from({ length: partitions }, (_, partition) => run(partition));

  async function run(partition: number): Promise<void> {
    let reported = '';
    while (!stopping.signal.aborted) {
      const connection = log.connection();
      if (connection !== null && deps.dbHealth.isUp()) {
        const lease = { partition, holder, streamCreated: connection.streamCreated };
        await consume(deps, connection, lease, stopping.signal).catch((err: Error) => {
          if (isDatabaseUnavailable(err)) return deps.dbHealth.sawFailure(err);
          if (err.message !== reported) deps.logger.error({ err, partition }, 'storing events from event log failed');
          reported = err.message;
        });
      }
      await sleep(retryMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/**
 * Stores the messages of a partition until one of these happens: another process acquires the lease, the log or the
 * database becomes unavailable, or the consumer is stopped.
 */
async function consume(
  deps: ConsumerDeps,
  connection: LogConnection,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const position = await acquireLease(deps.pool, lease);
  if (position === null) return;
  const store = openMessageStore(deps, connection, lease, position);
  const reader = await connection.read(lease.partition, position);
  let problem: unknown = null;
  const stop = (err: unknown = null): void => {
    problem ??= err;
    void reader.stop();
  };
  const idle = setInterval(() => void store.noteIdle().then((isOurs) => isOurs || stop(), stop), idleMs);
  const onAbort = (): void => stop();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) stop(); // aborted while the reader was opened
  try {
    await storeAll(reader, store);
    if (problem !== null) throw problem;
  } finally {
    clearInterval(idle);
    signal.removeEventListener('abort', onAbort);
    await reader.stop();
    if (deps.dbHealth.isUp()) await endLease(deps.pool, lease);
  }
}

/** Stores the messages that are available now, in batches of up to `maxEvents` events. */
async function storeAll(reader: Awaited<ReturnType<LogConnection['read']>>, store: MessageStore): Promise<void> {
  const messages = reader.messages[Symbol.asyncIterator]();
  const readNext = (): ReturnType<typeof messages.next> => {
    const coming = messages.next();
    coming.catch(() => {}); // unhandled if storing fails first
    return coming;
  };
  let next = readNext();
  let batch: Decoded[] = [];
  let events = 0;
  for (;;) {
    const result = batch.length === 0 ? await next : await Promise.race([next, notHereYet()]);
    if (result?.done === true) return;
    if (result !== null) {
      const content = read(result.value.data);
      if (content instanceof LaterVersionError) {
        await store.add(batch);
        throw content;
      }
      batch.push({ ...result.value, content });
      events += Array.isArray(content) ? content.length : 0;
      next = readNext();
      if (events < maxEvents) continue;
    }
    if (!(await store.add(batch))) return;
    batch = [];
    events = 0;
  }
}

/**
 * Resolves with null once all messages that have already arrived are processed. The client's own count of pending
 * messages can't be used, because it includes internal notices. Waiting for such a notice would delay a batch until the
 * next event.
 */
const notHereYet = (): Promise<null> => new Promise((resolve) => setImmediate(resolve, null));

function read(data: Uint8Array): LoggedEvent[] | UnreadableMessageError | LaterVersionError {
  try {
    return decodeMessage(data);
  } catch (err) {
    if (err instanceof UnreadableMessageError || err instanceof LaterVersionError) return err;
    throw err;
  }
}
