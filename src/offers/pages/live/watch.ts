import type pg from 'pg';
import type { Publisher } from '../../../catalog/types.ts';
import type { DatabaseHealth } from '../../../platform/db/health.ts';
import type { StreamEvent } from '../../../platform/http/event-streams.ts';
import { minuteMs } from '../../../platform/lib/time.ts';
import type { LiveCalls } from '../../live-calls/live-calls.ts';
import type { LiveCall } from '../../live-calls/store.ts';
import { readCalls, refusedKeptMs } from '../../live-calls/store.ts';
import { callItem, sessionItem } from './items.ts';
import { findRequests, sessionIdAt, sessionsAfter } from './requests.ts';

/** Sessions a stream keeps up to date. */
const maxWatched = 30;
/** New sessions or calls read at once. */
const maxNew = 200;
/** How far back a stream begins (milliseconds). */
const lookbackMs = minuteMs;

/** Where calls are read: the database, and who has them recorded. */
export type CallSources = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  liveCalls: Pick<LiveCalls, 'watch'>;
  now: () => number;
};

/** @returns a function that returns new and changed items each time it is called */
export function watchCalls(sources: CallSources, publisher: Publisher): () => Promise<StreamEvent[]> {
  const { pool, dbHealth, liveCalls } = sources;
  const calls = newCalls(sources, publisher);
  const sessions = changedSessions(sources, publisher);
  return async () => {
    if (!dbHealth.isUp()) return [];
    await liveCalls.watch(pool, publisher.id);
    const fresh = await calls();
    const ofSessions = new Map(
      fresh.flatMap(({ call }) => (call.sessionId === null ? [] : [[call.sessionId, call] as const])),
    );
    const others = fresh.filter(({ call }) => call.sessionId === null);
    const items = [...others.map((one) => callItem(one, publisher)), ...(await sessions(ofSessions))];
    return items.map((item) => ({ name: 'item', data: item.markup }));
  };
}

/** Calls that were not read before, oldest first. They are written in groups, so a later one may come earlier. */
function newCalls({ pool, now }: CallSources, publisher: Publisher) {
  let known = new Map<string, number>();
  // The refused calls of the last hour stand there when the page opens.
  let refusedSinceMs = now() - refusedKeptMs;
  return async () => {
    const sinceMs = now() - lookbackMs;
    const given = { sinceMs, refusedSinceMs, except: [...known.keys()], limit: maxNew };
    const fresh = await readCalls(pool, publisher.id, given);
    refusedSinceMs = sinceMs;
    known = new Map([...known, ...fresh.map(({ id, at }) => [id, at.getTime()] as const)]);
    for (const [id, atMs] of known) if (atMs < sinceMs) known.delete(id);
    return fresh;
  };
}

/** Answered fetches, again whenever their events or their perks change. */
function changedSessions({ pool, now }: CallSources, publisher: Publisher) {
  const known = new Map<string, { markup: string; call: LiveCall | undefined }>();
  let lastId = sessionIdAt(now() - lookbackMs);
  return async (calls: ReadonlyMap<string, LiveCall>) => {
    const fresh = await sessionsAfter(pool, publisher.id, lastId, maxNew);
    lastId = fresh.at(-1) ?? lastId;
    const ids = [...new Set([...known.keys(), ...fresh, ...calls.keys()])].slice(-maxWatched);
    const changed = [];
    for (const request of (await findRequests(pool, publisher.id, ids)).reverse()) {
      const before = known.get(request.sessionId);
      const call = calls.get(request.sessionId) ?? before?.call;
      const item = sessionItem(request, call, publisher);
      if (before?.markup === item.markup) continue;
      known.set(request.sessionId, { markup: item.markup, call });
      changed.push(item);
    }
    for (const id of [...known.keys()].slice(0, -maxWatched)) known.delete(id);
    return changed;
  };
}
