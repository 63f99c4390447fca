import type pg from 'pg';
import type { CatalogStore } from '../catalog/store.ts';
import type { LoggedEvent, StoreEvents } from '../catalog/types.ts';
import { transaction } from '../platform/db/pool.ts';
import { minuteMs } from '../platform/lib/time.ts';
import type { Logger } from '../platform/logger.ts';
import type { LogConnection, LogMessage } from './jetstream.ts';
import { encodeMessage, type UnreadableMessageError } from './message.ts';
import { type Lease, movePosition, type Reject, setAside } from './positions.ts';

/** A message with its decoded events, or with the error if it can't be decoded. */
export type Decoded = LogMessage & { content: LoggedEvent[] | UnreadableMessageError };

/** Stores the messages of a partition, in order. Concurrent calls are run one after another. */
export type MessageStore = {
  /**
   * Stores messages.
   * @returns false if another process has taken over the partition, or if the database has lost its last transactions
   */
  add: (messages: readonly Decoded[]) => Promise<boolean>;
  /**
   * Renews the lease. If no messages are pending, also records that the partition is idle.
   * @returns the same as `add`
   */
  noteIdle: () => Promise<boolean>;
};

export type StoreDeps = {
  pool: pg.Pool;
  catalog: CatalogStore;
  storeEvents: StoreEvents;
  logger: Logger;
  now: () => number;
};

/**
 * Time for which messages stay in the log after they were stored in the database, in milliseconds. If the database
 * loses its last transactions, for example in a failover to a lagging replica, the messages are stored again.
 */
const keptMs = 60 * minuteMs;

export function openMessageStore(
  { pool, catalog, storeEvents, logger, now }: StoreDeps,
  connection: LogConnection,
  lease: Lease,
  position: number,
): MessageStore {
  let last = position;
  const remove = createRemover(connection, lease.partition, now);

  /**
   * Stores messages and advances the position, in one transaction.
   * @returns false if the position was not as expected
   */
  async function commit(messages: readonly Decoded[], rejects: readonly Reject[]): Promise<boolean> {
    const end = messages.at(-1);
    if (end === undefined) return true;
    const step = { from: last, to: end.sequence, storedUntilMs: Math.min(end.atMs, now()) };
    const isOurs = await transaction(pool, async (executor) => {
      if (!(await movePosition(executor, lease, step))) return false;
      const rejected = new Set(rejects.map(({ sequence }) => sequence));
      const stored = messages.filter(({ sequence }) => !rejected.has(sequence));
      await storeEvents(executor, catalog.current(), stored.flatMap(eventsOf));
      for (const reject of rejects) await setAside(executor, lease, reject);
      return true;
    });
    if (isOurs) last = end.sequence;
    return isOurs;
  }

  async function add(messages: readonly Decoded[]): Promise<boolean> {
    const unreadable = messages.flatMap(toReject);
    await catalog.readyAll(messages.flatMap(eventsOf).map(({ claims }) => claims.publisherId));
    try {
      if (!(await commit(messages, unreadable))) return false;
    } catch (err) {
      if (!isInvalidData(err)) throw err;
      for (const message of messages) if (!(await addAlone(message))) return false;
    }
    for (const reject of unreadable) report(reject);
    await remove(last);
    return true;
  }

  /** Stores the events of a message one by one. Events that the database rejects are moved to `event_log_rejects`. */
  async function addAlone(message: Decoded): Promise<boolean> {
    const refused: LoggedEvent[] = [];
    let error = '';
    for (const event of eventsOf(message)) {
      try {
        await transaction(pool, (executor) => storeEvents(executor, catalog.current(), [event]));
      } catch (err) {
        if (!isInvalidData(err)) throw err;
        refused.push(event);
        error = (err as Error).message;
      }
    }
    if (refused.length === 0) return commit([message], toReject(message));
    const reject = { ...message, error, data: encodeMessage(refused) };
    report(reject);
    return commit([message], [reject]);
  }

  const report = ({ sequence, error }: Reject): void =>
    logger.error({ partition: lease.partition, sequence, error }, 'event log message rejected by PostgreSQL');

  async function noteIdle(): Promise<boolean> {
    const askedMs = now();
    const newest = await connection.lastSequence(lease.partition).catch(() => Number.POSITIVE_INFINITY);
    const storedUntilMs = newest <= last ? askedMs : 0;
    return movePosition(pool, lease, { from: last, to: last, storedUntilMs });
  }

  let running: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = running.then(work);
    running = result.catch(() => {});
    return result;
  };
  return { add: (messages) => inTurn(() => add(messages)), noteIdle: () => inTurn(noteIdle) };
}

const eventsOf = ({ content }: Decoded): LoggedEvent[] => (Array.isArray(content) ? content : []);

const toReject = (message: Decoded): Reject[] =>
  Array.isArray(message.content) ? [] : [{ ...message, error: message.content.message }];

/** Whether PostgreSQL rejected the data itself (SQLSTATE classes 22 and 23), so that a retry is pointless. */
const isInvalidData = (err: unknown): boolean => /^2[23]/.test(String((err as { code?: unknown }).code));

/**
 * Creates a function that deletes messages from the log `keptMs` after they were stored. It runs at most once a minute.
 */
function createRemover(connection: LogConnection, partition: number, now: () => number) {
  const stored: { atMs: number; sequence: number }[] = [];
  return async (sequence: number): Promise<void> => {
    const nowMs = now();
    if (nowMs - (stored.at(-1)?.atMs ?? 0) >= minuteMs) stored.push({ atMs: nowMs, sequence });
    const lastDue = stored.findLastIndex(({ atMs }) => atMs <= nowMs - keptMs);
    if (lastDue < 0) return;
    const [upTo] = stored.splice(0, lastDue + 1).slice(-1);
    // If the log is unavailable, the deletion is retried a minute later.
    if (upTo !== undefined) await connection.remove(partition, upTo.sequence).catch(() => {});
  };
}
