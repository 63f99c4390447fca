import type { FastifyRequest } from 'fastify';
import { findOwner } from '../../accounts/caller.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { type ErrorDetail, errorStatuses } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import { pathWithoutUsers } from '../../platform/logger.ts';
import { storedProblem } from '../../platform/problem.ts';
import { maskAnswer, maskRequest } from './mask.ts';
import { type LiveCall, type RecordedCall, readWatched, writeCalls, writeWatch } from './store.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Ignored and dropped values of the request; null if there are none. */
    notes: ErrorDetail[] | null;
  }
}

/**
 * Calls of watched publishers (docs/reference/debugging.md#live-calls). Any process may receive a call, and any other
 * may show it. A table that all processes read lists the watched publishers, and a background job writes calls in
 * groups.
 */
export type LiveCalls = {
  isAnyWatched: () => boolean;
  isWatched: (publisherId: number) => boolean;
  /**
   * Adds a call.
   * @param read called if there is room for the call
   */
  add: (publisherId: number, read: () => LiveCall) => void;
  /** Makes all processes record the calls of a publisher for the next seconds. Repeated while they are shown. */
  watch: (executor: Executor, publisherId: number) => Promise<void>;
  /** Writes the recorded calls and reads the watched publishers. Calls that cannot be written are lost. */
  sync: (executor: Executor) => Promise<void>;
};

/** Duration of a watch (milliseconds). An open page renews it earlier. */
const watchMs = 15_000;
/**
 * Maximum number of calls of a publisher recorded between two writes, and of rejected ones while no page shows them.
 */
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
      // Includes publishers that this process began to watch during the query.
      for (const [publisherId, untilMs] of watched)
        if (untilMs > Math.max(now(), read.get(publisherId) ?? 0)) read.set(publisherId, untilMs);
      watched = read;
    },
  };
}

/** Maximum size of a response that is shown (bytes). */
const maxAnswerBytes = 256 * 1024;

type RecordDeps = { liveCalls: LiveCalls; catalog: CatalogStore; now: () => number };

/** Response to a call. `ms` is the duration in the service. */
type Answered = { status: number; ms: number; body: () => unknown };

/** Records the calls of a plugin's routes. */
export function recordLiveCalls(app: App, deps: RecordDeps): void {
  app.decorateRequest('notes', null);
  app.addHook('onSend', (request, { statusCode: status, elapsedTime: ms }, body, done) => {
    if (request.routeOptions.url !== undefined) recordLiveCall(request, { status, ms, body: () => body }, deps);
    done(null, body);
  });
}

/** Records rejected management calls without their content, which may be a secret. */
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
 * Records a call for the owner of its key: all calls of a watched publisher, and all rejected ones. It costs two
 * comparisons while nobody watches and nothing is rejected.
 */
export function recordLiveCall(
  request: FastifyRequest,
  answered: Answered,
  { liveCalls, catalog, now }: RecordDeps,
): void {
  if (answered.status === errorStatuses.client_closed) return;
  const refused = isRefused(answered.status);
  if (!refused && !liveCalls.isAnyWatched()) return;
  const snapshot = catalog.current();
  const publisherId = findOwner(snapshot, request, now())?.id ?? (refused ? onlyPublisher(snapshot) : null);
  if (publisherId !== null && (refused || liveCalls.isWatched(publisherId)))
    liveCalls.add(publisherId, () => callOf(request, answered));
}

/** The publisher of calls with an unknown key, or null if there are several publishers. */
function onlyPublisher({ publishers }: Snapshot): number | null {
  const [first, second] = publishers.keys();
  return second === undefined ? (first ?? null) : null;
}

function callOf(request: FastifyRequest, { status, ms, body: payload }: Answered): LiveCall {
  const { visible: query, hiddenTexts: ofQuery } = maskRequest(request.query);
  const sent = request.url.startsWith(managementPath) ? null : request.body;
  const { visible: body, hiddenTexts: ofBody } = maskRequest(sent);
  const response = parsed(payload()) as { error?: LiveCall['error']; data?: { session_id?: unknown } } | null;
  const sessionId = response?.data?.session_id;
  const answer = maskAnswer(response, new Set([...ofQuery, ...ofBody])) as typeof response;
  return {
    method: request.method,
    path: pathWithoutUsers(request.url.split('?', 1)[0] as string),
    status,
    ms: Math.round(ms * 10) / 10,
    query,
    body: body ?? null,
    answer,
    error: isRefused(status) ? (answer?.error ?? null) : null,
    notes: (request.notes ?? []).map(({ path, message }) => ({ path, message: storedProblem(message) })),
    sessionId: typeof sessionId === 'string' ? sessionId : null,
  };
}

/** Parses the response; null if it is not JSON, or too long. */
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
