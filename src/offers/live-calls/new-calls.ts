import type pg from 'pg';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import type { LiveCalls } from './live-calls.ts';
import { type KeptCall, readCalls, refusedKeptMs } from './store.ts';

/** How far back a stream begins (milliseconds). */
export const lookbackMs = minuteMs;
/** Calls read at once. */
const maxNew = 200;

/** Where calls are read: the database, and who has them recorded. */
export type CallSources = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  liveCalls: LiveCalls;
  now: () => number;
};

/**
 * @returns a function that returns the calls of a publisher which it has not returned before, oldest first; at first
 * those of the last minute, and the refused ones of the last hour. They are written in groups, so a later one may come
 * earlier
 */
export function newCalls({ pool, now }: CallSources, publisherId: number): () => Promise<KeptCall[]> {
  let known = new Map<string, number>();
  let refusedSinceMs = now() - refusedKeptMs;
  return async () => {
    const sinceMs = now() - lookbackMs;
    const given = { sinceMs, refusedSinceMs, except: [...known.keys()], limit: maxNew };
    const fresh = await readCalls(pool, publisherId, given);
    refusedSinceMs = sinceMs;
    known = new Map([...known, ...fresh.map(({ id, at }) => [id, at.getTime()] as const)]);
    for (const [id, atMs] of known) if (atMs < sinceMs) known.delete(id);
    return fresh;
  };
}
