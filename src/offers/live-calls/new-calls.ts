import type pg from 'pg';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import type { LiveCalls } from './live-calls.ts';
import { type KeptCall, readCalls, refusedKeptMs } from './store.ts';

/** How far back a stream starts (milliseconds). */
export const lookbackMs = minuteMs;
/** Maximum number of calls read at once. */
const maxNew = 200;

/** Sources of calls: the database, and the recorder. */
export type CallSources = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  liveCalls: LiveCalls;
  now: () => number;
};

/**
 * Creates a reader of new calls.
 * @returns a function that returns a publisher's calls since its last result, oldest first. The first result has those
 * of the last minute, and rejected ones of the last hour. Calls are written in groups, so they may be slightly out of
 * order
 */
export function newCalls({ pool, now }: CallSources, publisherId: number): () => Promise<KeptCall[]> {
  let returnedCalls = new Map<string, number>();
  let refusedSinceMs = now() - refusedKeptMs;
  return async () => {
    const sinceMs = now() - lookbackMs;
    const query = { sinceMs, refusedSinceMs, except: [...returnedCalls.keys()], limit: maxNew };
    const fresh = await readCalls(pool, publisherId, query);
    refusedSinceMs = sinceMs;
    returnedCalls = new Map([...returnedCalls, ...fresh.map(({ id, at }) => [id, at.getTime()] as const)]);
    for (const [id, atMs] of returnedCalls) if (atMs < sinceMs) returnedCalls.delete(id);
    return fresh;
  };
}
