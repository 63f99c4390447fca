import type { Executor } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { hourMs, minuteMs } from '../../platform/lib/time.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import { type ApiCall, type ApiCallCount, writeApiCalls, writeCounts } from './api-log-store.ts';
import { isRefused } from './store.ts';

/** Completed call. `ms` is the time spent in the service, in milliseconds. */
type AnsweredCall = { method: string; route: string; status: number; code: string; ms: number };

/**
 * Log of a publisher's calls over 30 days (docs/reference/debugging.md#api-log). All calls are counted by hour.
 * Rejected and slow calls, changes, and a sample of all other calls are also stored individually. Each process collects
 * its calls in memory, and a job writes them to the database.
 */
export type ApiLog = {
  /**
   * Adds a call. If the call is only counted, this takes two look-ups.
   * @param isChange whether the call changed something through the management API
   * @param detailsOf returns the rest of the call; not called if the call is only counted
   */
  add: (publisherId: number, call: AnsweredCall, isChange: boolean, detailsOf: () => CallDetails) => void;
  /** Writes the collected calls to the database. If this fails, they are lost. */
  write: (executor: Executor) => Promise<void>;
};

type CallDetails = { path: string; fields: readonly string[]; requestId: string; keyId: number | null };

/** Duration from which a call is slow, in milliseconds. */
export const slowMs = 1000;

/**
 * Maximum number of calls per minute that a process stores individually. The limits are needed because anyone can cause
 * rejected calls. Calls beyond the limits are only counted.
 */
export const maxRowsPerPublisher = 20;
const maxRows = 1000;
/** Maximum number of combinations of publisher, route and result that are counted between two writes. */
const maxCounts = 20_000;
/** Maximum number of routes whose last sample is remembered. */
const maxSamples = 100_000;

export function createApiLog({ now }: { now: () => number }): ApiLog {
  let collected = new Map<number, Map<string, ApiCallCount[]>>();
  let counts = 0;
  let rows: ApiCall[] = [];
  let limits = { minute: 0, rows: 0, byPublisher: new Map<number, number>() };
  /** Hour of the last sampled call, by publisher and route. */
  const sampledHours = new Map<string, number>();

  function mayStore(publisherId: number, nowMs: number): boolean {
    const minute = Math.floor(nowMs / minuteMs);
    if (minute !== limits.minute) limits = { minute, rows: 0, byPublisher: new Map() };
    const ofPublisher = limits.byPublisher.get(publisherId) ?? 0;
    if (limits.rows >= maxRows || ofPublisher >= maxRowsPerPublisher) return false;
    limits.rows += 1;
    limits.byPublisher.set(publisherId, ofPublisher + 1);
    return true;
  }

  /** Whether this is the first accepted call of a route in this hour. */
  function isSample(publisherId: number, { method, route }: AnsweredCall, nowMs: number): boolean {
    const key = `${publisherId} ${method} ${route}`;
    const hour = Math.floor(nowMs / hourMs);
    if (sampledHours.get(key) === hour) return false;
    if (sampledHours.size >= maxSamples) sampledHours.clear();
    sampledHours.set(key, hour);
    return true;
  }

  /** Returns the count of calls with the same route and result, or null if there are too many counts. */
  function countOf(publisherId: number, call: AnsweredCall, nowMs: number): ApiCallCount | null {
    const { method, route, status, code } = call;
    const ofPublisher = getOrInsert(collected, publisherId, () => new Map<string, ApiCallCount[]>());
    // A route has few results, so comparing them costs less than building a key for each call.
    const ofRoute = getOrInsert(ofPublisher, route, () => [] as ApiCallCount[]);
    for (const count of ofRoute)
      if (count.status === status && count.code === code && count.method === method) return count;
    if (counts >= maxCounts) return null;
    counts += 1;
    const count = { publisherId, method, route, status, code, calls: 0, slow: 0, ms: 0, firstMs: nowMs, lastMs: nowMs };
    ofRoute.push(count);
    return count;
  }

  return {
    add: (publisherId, call, isChange, detailsOf) => {
      const nowMs = now();
      const count = countOf(publisherId, call, nowMs);
      const isFirst = count?.calls === 0;
      const isSlow = call.ms >= slowMs;
      if (count !== null) {
        count.calls += 1;
        count.slow += isSlow ? 1 : 0;
        count.ms += call.ms;
        count.lastMs = nowMs;
      }
      const isStored = isRefused(call.status) || isSlow || isChange || (isFirst && isSample(publisherId, call, nowMs));
      if (!isStored || !mayStore(publisherId, nowMs)) return;
      const ms = Math.round(call.ms * 10) / 10;
      rows.push({ id: newUuid7(nowMs), atMs: nowMs, publisherId, ...call, ms, ...detailsOf() });
    },
    write: async (executor) => {
      const calls = rows;
      const all = [...collected.values()].flatMap((ofPublisher) => [...ofPublisher.values()].flat());
      rows = [];
      collected = new Map();
      counts = 0;
      if (all.length > 0) await writeCounts(executor, all);
      if (calls.length > 0) await writeApiCalls(executor, calls);
    },
  };
}
