import type { FastifyRequest } from 'fastify';
import { findOwner } from '../../accounts/caller.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { type ErrorDetail, errorCatalogue } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import { pathWithoutUsers } from '../../platform/logger.ts';
import { maskAnswer, maskRequest } from './mask.ts';
import { type LiveCall, type RecordedCall, readWatched, writeCalls, writeWatch } from './store.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What was ignored or dropped of the request; null: nothing. */
    notes: ErrorDetail[] | null;
  }
}

/**
 * Calls of publishers that are being watched (docs/reference/debugging.md#live-calls). Any process may take a call and
 * any other show it: who is watched stands in a table that all of them read, and calls are written in groups by a
 * background job.
 */
export type LiveCalls = {
  isAnyWatched: () => boolean;
  isWatched: (publisherId: number) => boolean;
  /** @param read called where there is room for the call */
  add: (publisherId: number, read: () => LiveCall) => void;
  /** Has the calls of a publisher recorded by all processes for the next seconds; repeated while they are shown. */
  watch: (executor: Executor, publisherId: number) => Promise<void>;
  /** Writes what was recorded and learns who is watched. What cannot be written is lost. */
  sync: (executor: Executor) => Promise<void>;
};

/** A page that is open asks again before this is over (milliseconds). */
const watchMs = 15_000;
/** Calls recorded of one publisher between two writes (count), and refused ones while no page shows them. */
const maxOfPublisher = 25;
const maxUnwatched = 5;

export function createLiveCalls(now: () => number): LiveCalls {
  let watched = new Map<number, number>();
  let rows: RecordedCall[] = [];
  let counts = new Map<number, number>();
  return {
    isAnyWatched: () => watched.size > 0,
    isWatched: (publisherId) => (watched.get(publisherId) ?? 0) > now(),
    add: (publisherId, read) => {
      const count = getOrInsert(counts, publisherId, () => 0);
      if (count >= ((watched.get(publisherId) ?? 0) > now() ? maxOfPublisher : maxUnwatched)) return;
      counts.set(publisherId, count + 1);
      const atMs = now();
      const call = read();
      rows.push({ id: newUuid7(atMs), publisherId, atMs, refused: isRefused(call.status), call });
    },
    watch: async (executor, publisherId) => {
      const untilMs = now() + watchMs;
      watched.set(publisherId, untilMs);
      await writeWatch(executor, publisherId, untilMs);
    },
    sync: async (executor) => {
      const recorded = rows;
      rows = [];
      counts = new Map();
      if (recorded.length > 0) await writeCalls(executor, recorded, now());
      const read = await readWatched(executor, now());
      // What this process began to watch while the database was asked.
      for (const [publisherId, untilMs] of watched)
        if (untilMs > Math.max(now(), read.get(publisherId) ?? 0)) read.set(publisherId, untilMs);
      watched = read;
    },
  };
}

/** Longer answers are not shown (bytes). */
const maxAnswerBytes = 256 * 1024;

type RecordDeps = { liveCalls: LiveCalls; catalog: CatalogStore; now: () => number };

/** What a call was answered. `ms`: the service took so long. */
type Answered = { status: number; ms: number; body: () => unknown };

/** Records the calls of the routes of a plugin. */
export function recordLiveCalls(app: App, deps: RecordDeps): void {
  app.decorateRequest('notes', null);
  app.addHook('onSend', (request, { statusCode: status, elapsedTime: ms }, body, done) => {
    if (request.routeOptions.url !== undefined) recordLiveCall(request, { status, ms, body: () => body }, deps);
    done(null, body);
  });
}

/** Records the refused calls of management, without what they sent: it may be a secret. */
export function recordRefusedManagement(app: App, deps: RecordDeps): void {
  app.addHook('onSend', (request, { statusCode: status, elapsedTime: ms }, body, done) => {
    if (isRefused(status) && request.url.startsWith(managementPath))
      recordLiveCall(request, { status, ms, body: () => body }, deps);
    done(null, body);
  });
}

const managementPath = '/manage/';

const isRefused = (status: number): boolean => status >= 400;

/**
 * Records a call by the key that it presents: any of a watched publisher, a refused one always. Costs two comparisons
 * while nobody watches and nothing is refused.
 */
export function recordLiveCall(
  request: FastifyRequest,
  answered: Answered,
  { liveCalls, catalog, now }: RecordDeps,
): void {
  if (answered.status === errorCatalogue.client_closed.status) return;
  const refused = isRefused(answered.status);
  if (!refused && !liveCalls.isAnyWatched()) return;
  const snapshot = catalog.current();
  const publisherId = findOwner(snapshot, request, now())?.id ?? (refused ? onlyPublisher(snapshot) : null);
  if (publisherId !== null && (refused || liveCalls.isWatched(publisherId)))
    liveCalls.add(publisherId, () => callOf(request, answered));
}

/** Whose call with an unknown key must be; null where there are several publishers. */
function onlyPublisher({ publishers }: Snapshot): number | null {
  const [first, second] = publishers.keys();
  return second === undefined ? (first ?? null) : null;
}

function callOf(request: FastifyRequest, { status, ms, body: payload }: Answered): LiveCall {
  const { shown: query, hiddenTexts: ofQuery } = maskRequest(request.query);
  const sent = request.url.startsWith(managementPath) ? null : request.body;
  const { shown: body, hiddenTexts: ofBody } = maskRequest(sent);
  const given = parsed(payload()) as { error?: LiveCall['error']; data?: { session_id?: unknown } } | null;
  const sessionId = given?.data?.session_id;
  const answer = maskAnswer(given, new Set([...ofQuery, ...ofBody])) as typeof given;
  return {
    method: request.method,
    path: pathWithoutUsers(request.url.split('?', 1)[0] as string),
    status,
    ms: Math.round(ms * 10) / 10,
    query,
    body: body ?? null,
    answer,
    error: isRefused(status) ? (answer?.error ?? null) : null,
    notes: request.notes ?? [],
    sessionId: typeof sessionId === 'string' ? sessionId : null,
  };
}

/** The answer as an object; null: it is no JSON, or too long. */
function parsed(payload: unknown): object | null {
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return null;
  if (payload.length > maxAnswerBytes) return null;
  try {
    const value: unknown = JSON.parse(payload.toString());
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
