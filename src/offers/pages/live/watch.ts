import type pg from 'pg';
import type { Publisher } from '../../../catalog/types.ts';
import type { StreamEvent } from '../../../platform/http/event-streams.ts';
import { firstUuid7At } from '../../../platform/lib/uuid7.ts';
import { lookbackMs, type RequestLog } from '../../request-log/request-log.ts';
import { isFetch, type LiveCall } from '../../request-log/store.ts';
import type { LinkTo } from './advice.ts';
import { callItem, sessionItem } from './items.ts';
import { findRequests, sessionsAfter } from './requests.ts';

/** Maximum number of sessions that one stream tracks for changes. */
const maxWatched = 30;
/** Maximum number of new sessions read per query. */
const maxNew = 200;

/** Data sources of the live page: sessions and logged calls. */
export type LiveSources = { pool: pg.Pool; requestLog: RequestLog; now: () => number };

/**
 * Starts watching a publisher's calls.
 * @returns a function that returns the items that are new or changed since it was last called
 */
export function watchCalls(sources: LiveSources, publisher: Publisher, linkTo: LinkTo): () => Promise<StreamEvent[]> {
  const newCalls = sources.requestLog.watch(publisher.id);
  const sessions = changedSessions(sources, publisher, linkTo);
  return async () => {
    const fresh = await newCalls();
    const ofSessions = new Map(
      fresh.flatMap(({ call }) => (call.sessionId !== null && isFetch(call) ? [[call.sessionId, call] as const] : [])),
    );
    const others = fresh.filter(({ call }) => !isFetch(call));
    const items = [...others.map((other) => callItem(other, publisher, linkTo)), ...(await sessions(ofSessions))];
    return items.map((item) => ({ name: 'item', data: item.markup }));
  };
}

/** Creates a function that returns new answered fetches, and returns a fetch again when its events or perks change. */
function changedSessions({ pool, now }: LiveSources, publisher: Publisher, linkTo: LinkTo) {
  const sentItems = new Map<string, { markup: string; call: LiveCall | undefined }>();
  let lastId = firstUuid7At(now() - lookbackMs);
  return async (calls: ReadonlyMap<string, LiveCall>) => {
    const fresh = await sessionsAfter(pool, publisher.id, lastId, maxNew);
    lastId = fresh.at(-1) ?? lastId;
    const ids = [...new Set([...sentItems.keys(), ...fresh, ...calls.keys()])].slice(-maxWatched);
    const changed = [];
    for (const request of (await findRequests(pool, publisher.id, ids)).reverse()) {
      const before = sentItems.get(request.sessionId);
      const call = calls.get(request.sessionId) ?? before?.call;
      const item = sessionItem(request, call, publisher, linkTo);
      if (before?.markup === item.markup) continue;
      sentItems.set(request.sessionId, { markup: item.markup, call });
      changed.push(item);
    }
    for (const id of [...sentItems.keys()].slice(0, -maxWatched)) sentItems.delete(id);
    return changed;
  };
}
