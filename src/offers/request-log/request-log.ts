import type pg from 'pg';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import { storedProblem } from '../../platform/problem.ts';
import {
  type LiveCall,
  type LoggedCall,
  type Notice,
  readCalls,
  readWatched,
  refusedKeptMs,
  writeCalls,
  writeNotices,
  writeWatch,
} from './store.ts';

/**
 * Log of publishers' requests (docs/reference/debugging.md#request-log). It contains refused calls, all calls while
 * someone is watching, and notices about ignored, dropped and refused values. Each process collects its own requests in
 * memory. A job writes them to the database in batches, so that every process can read them.
 */
export type RequestLog = {
  isAnyWatched: () => boolean;
  isWatched: (publisherId: number) => boolean;
  /**
   * Adds a call.
   * @param read builds the call; not called if the log is full
   */
  addCall: (publisherId: number, read: () => LiveCall) => void;
  /**
   * Adds a notice.
   * @param detail `path` has the format of error details; '' means the whole request
   */
  addNotice: (publisherId: number, detail: ErrorDetail, refused: boolean) => void;
  /**
   * Starts watching a publisher's calls.
   * @returns a function that extends the watch by a few seconds in all processes and returns the calls since it was
   * last called, oldest first. The first result contains the calls of the last minute and the refused calls of the last
   * hour. Calls may be slightly out of order, because they are written in batches.
   */
  watch: (publisherId: number) => () => Promise<LoggedCall[]>;
  /**
   * Writes the collected requests to the database and reads which publishers are being watched. If writing fails, the
   * requests are lost.
   */
  write: () => Promise<void>;
};

/** Duration of a watch, in milliseconds. An open page extends the watch before it expires. */
const watchMs = 15_000;
/** When a watch starts, calls from this period before the start are included, in milliseconds. */
export const lookbackMs = minuteMs;
/** Maximum number of calls that a watch returns at a time. */
const maxReturned = 200;

/**
 * Limits on the data collected between two writes. They are needed because refused calls and notices can be caused by
 * anyone.
 */
const maxPublishers = 1000;
const maxWatchedCalls = 25;
const maxUnwatchedCalls = 5;
const maxNotices = 50;

/** Maximum lengths of the strings in a notice, in characters. They match the table columns. */
const maxPath = 200;
const maxMessage = 500;

/** Truncates a text and replaces the characters that PostgreSQL cannot store. */
export const storable = (text: string, length: number): string =>
  text.slice(0, length).toWellFormed().replaceAll('\0', '\ufffd');

type LogDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; now: () => number };

export function createRequestLog({ pool, dbHealth, now }: LogDeps): RequestLog {
  let watchedUntilMs = new Map<number, number>();
  let collected = new Map<number, { calls: LoggedCall[]; notices: Map<string, Notice> }>();
  const isWatched = (publisherId: number): boolean => (watchedUntilMs.get(publisherId) ?? 0) > now();
  const requestsOf = (publisherId: number) =>
    collected.has(publisherId) || collected.size < maxPublishers
      ? getOrInsert(collected, publisherId, () => ({ calls: [], notices: new Map() }))
      : null;

  return {
    isAnyWatched: () => watchedUntilMs.size > 0,
    isWatched,
    addCall: (publisherId, read) => {
      const calls = requestsOf(publisherId)?.calls;
      const limit = isWatched(publisherId) ? maxWatchedCalls : maxUnwatchedCalls;
      if (calls === undefined || calls.length >= limit) return;
      calls.push({ id: newUuid7(now()), at: new Date(now()), call: read() });
    },
    addNotice: (publisherId, detail, refused) => {
      const notices = requestsOf(publisherId)?.notices;
      if (notices === undefined) return;
      const [path, message] = [storable(detail.path, maxPath), storable(storedProblem(detail.message), maxMessage)];
      const name = `${path} ${message}`;
      const count = (notices.get(name)?.count ?? 0) + 1;
      if (count > 1 || notices.size < maxNotices)
        notices.set(name, { path, message, refused, count, lastAt: new Date(now()) });
    },
    watch: (publisherId) => {
      let recent: { id: string; at: Date }[] = [];
      let refusedSinceMs = now() - refusedKeptMs;
      return async () => {
        if (!dbHealth.isUp()) return [];
        const untilMs = now() + watchMs;
        watchedUntilMs.set(publisherId, untilMs);
        await writeWatch(pool, publisherId, untilMs);
        const sinceMs = now() - lookbackMs;
        const except = recent.map(({ id }) => id);
        const calls = await readCalls(pool, publisherId, { sinceMs, refusedSinceMs, except, limit: maxReturned });
        refusedSinceMs = sinceMs;
        recent = [...recent, ...calls.map(({ id, at }) => ({ id, at }))].filter(({ at }) => at.getTime() >= sinceMs);
        return calls;
      };
    },
    write: async () => {
      const requests = [...collected];
      collected = new Map();
      const calls = requests.flatMap(([publisherId, of]) => of.calls.map((call) => ({ publisherId, ...call })));
      const notices = requests.flatMap(([publisherId, of]) =>
        [...of.notices.values()].map((notice) => ({ publisherId, ...notice })),
      );
      if (calls.length > 0) await writeCalls(pool, calls, now());
      if (notices.length > 0) await writeNotices(pool, notices);
      const watched = await readWatched(pool, now());
      // Preserve watches that this process started during the query.
      for (const [publisherId, untilMs] of watchedUntilMs)
        if (untilMs > Math.max(now(), watched.get(publisherId) ?? 0)) watched.set(publisherId, untilMs);
      watchedUntilMs = watched;
    },
  };
}
