import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { EventLog } from '../catalog/types.ts';
import type { EventLogSetting } from '../config.ts';
import { startLoop } from '../platform/lib/loop.ts';
import type { Logger } from '../platform/logger.ts';
import { StartupError } from '../platform/startup-error.ts';
import { connectToLog, ForeignStreamError, type LogConnection } from './jetstream.ts';
import { encodeMessage } from './message.ts';
import { storedUntil } from './positions.ts';

/** Event log as used by this process (docs/operations.md#event-log). */
export type OpenEventLog = EventLog & {
  /** Returns the current connection, or null while disconnected. */
  connection: () => LogConnection | null;
  /**
   * Returns a time in epoch milliseconds. All events that were in the log at that time have been stored in the
   * database.
   */
  storedUntil: () => number;
  /** Updates `storedUntil` from the database. */
  refresh: (pool: pg.Pool) => Promise<void>;
  close: () => Promise<void>;
};

/** Number of partitions. All events of a session are in the same partition. All processes must use the same number. */
export const partitions = 4;

/** Returns the partition of a session. The random last digits of its UUIDv7 distribute sessions evenly. */
export const partitionOf = (sessionId: string): number => Number.parseInt(sessionId.slice(-2), 16) % partitions;

const attemptMs = 1_500;
const retryMs = 50;
/** Interval between attempts to reach the log while it is unavailable, in milliseconds. */
const probeMs = 1_000;
/** Maximum time that startup waits for the log, in milliseconds. After that, requests are served without it. */
const startLimitMs = 3_000;

/**
 * Opens the event log.
 * @throws StartupError if the stream does not belong to Perkwire
 */
export async function openEventLog(
  setting: EventLogSetting,
  logger: Logger,
  connect: typeof connectToLog = connectToLog,
): Promise<OpenEventLog> {
  const writer = randomUUID();
  let connection: LogConnection | null = null;
  let up = false;
  let reported: string | null = null;
  let appended = 0;
  let stored = 0;
  let foreign: ForeignStreamError | null = null;
  let becomeStarted = (): void => {};
  const started = new Promise<void>((resolve) => {
    becomeStarted = resolve;
  });

  const send = (partition: number, data: Uint8Array, limitMs: number): Promise<void> => {
    appended += 1;
    return appendWithin(connection, { partition, data, id: `${writer}-${appended}`, limitMs });
  };

  function becameUnavailable(err: Error): void {
    up = false;
    foreign = err instanceof ForeignStreamError ? err : null;
    if (reported === err.message) return;
    reported = err.message;
    logger.error({ err }, 'event log unavailable; writing events directly to PostgreSQL');
  }

  /** Connects if necessary, then appends a message without events to test whether the log accepts messages. */
  async function probe(): Promise<void> {
    if (connection === null) {
      const opened = await connect(setting);
      connection = opened;
      void opened.closed.then(() => {
        if (connection === opened) connection = null;
      });
    }
    await send(0, encodeMessage([]), attemptMs);
    if (reported !== null) logger.info({}, 'event log available');
    reported = null;
    up = true;
  }

  const loop = startLoop(async () => {
    if (!up || connection === null) await probe().catch(becameUnavailable);
    becomeStarted();
    return probeMs;
  });
  await Promise.race([started, sleep(startLimitMs)]);
  const close = async (): Promise<void> => {
    up = false;
    await connection?.close();
    await loop.stop();
    await connection?.close();
  };
  if (foreign !== null) {
    await close();
    throw new StartupError((foreign as ForeignStreamError).message);
  }
  return {
    partitions,
    partitionOf,
    isUp: () => up && connection !== null,
    connection: () => connection,
    append: async (partition, events, limitMs) => {
      try {
        await send(partition, encodeMessage(events), limitMs);
      } catch (err) {
        becameUnavailable(err as Error);
        throw err;
      }
    },
    storedUntil: () => stored,
    refresh: async (pool) => {
      stored = await storedUntil(pool);
    },
    close,
  };
}

type Appended = { partition: number; data: Uint8Array; id: string; limitMs: number };

/** Appends a message. Retries use the same message ID, so that the log can drop duplicates. */
async function appendWithin(log: LogConnection | null, { partition, data, id, limitMs }: Appended): Promise<void> {
  if (log === null) throw new Error('there is no connection to the event log');
  const endMs = performance.now() + limitMs;
  for (;;) {
    try {
      return await log.append(partition, data, id, attemptMs);
    } catch (err) {
      if (performance.now() >= endMs) throw err;
      await sleep(retryMs);
    }
  }
}
