import type { FastifyRequest } from 'fastify';
import { findOwner } from '../../accounts/caller.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import { type AppError, type ErrorCode, type ErrorDetail, errorStatuses } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { bytesOf, type HotObserver } from '../../platform/http/hot-routes.ts';
import { pathWithoutUsers } from '../../platform/logger.ts';
import { storedProblem } from '../../platform/problem.ts';
import { maskAnswer, maskRequest } from './mask.ts';
import type { RequestLog } from './request-log.ts';
import { isRefused, type LiveCall } from './store.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Notices about request values that were ignored or dropped. */
    notes?: ErrorDetail[];
  }
}

type RecordDeps = { requestLog: RequestLog; catalog: CatalogStore; now: () => number };

/** Response to a call. `ms` is the time spent in the service, in milliseconds. */
type Answered = { status: number; ms: number; body: () => unknown };

/** Logs calls to all of a plugin's routes that `included` accepts. */
export function recordCalls(
  app: App,
  deps: RecordDeps,
  included: (request: FastifyRequest, status: number) => boolean,
): void {
  app.addHook('onSend', (request, { statusCode: status, elapsedTime: ms }, body, done) => {
    if (included(request, status)) recordCall(request, { status, ms, body: () => body }, deps);
    done(null, body);
  });
}

/**
 * Whether this is a rejected management call. Such calls are logged without their content, which may contain secrets.
 */
export const isRefusedManagement = (request: FastifyRequest, status: number): boolean =>
  isRefused(status) && isManagement(request);

const isManagement = ({ url }: FastifyRequest): boolean => url.startsWith('/manage/');

/** Creates an observer that logs calls for offers and adds notices about ignored, dropped and refused values. */
export const createOfferObserver =
  (deps: RecordDeps): HotObserver =>
  (request, { status, body, error }, ms) => {
    recordCall(request, { status, ms, body: () => bytesOf(body) }, deps);
    if (error !== undefined || request.notes !== undefined) recordNotices(request, error, deps);
  };

/** Error codes that are not caused by the content of a request and therefore create no notice. */
const unnotedCodes: ReadonlySet<ErrorCode> = new Set(['too_many_requests', 'client_closed']);

function recordNotices(
  request: FastifyRequest,
  error: AppError | undefined,
  { requestLog, catalog, now }: RecordDeps,
): void {
  const publisher = findOwner(catalog.current(), request, now());
  if (publisher === null) return;
  for (const note of request.notes ?? []) requestLog.addNotice(publisher.id, note, false);
  if (error === undefined || error.status >= 500 || unnotedCodes.has(error.code)) return;
  for (const detail of error.details ?? [{ path: '', message: error.problem }])
    requestLog.addNotice(publisher.id, detail, true);
}

/**
 * Logs a call for the publisher that owns its key, if that publisher is being watched or the call was refused. In all
 * other cases, the check costs only two comparisons.
 */
function recordCall(request: FastifyRequest, answered: Answered, { requestLog, catalog, now }: RecordDeps): void {
  if (answered.status === errorStatuses.client_closed) return;
  const refused = isRefused(answered.status);
  if (!refused && !requestLog.isAnyWatched()) return;
  const snapshot = catalog.current();
  const publisherId = findOwner(snapshot, request, now())?.id ?? (refused ? onlyPublisher(snapshot) : null);
  if (publisherId !== null && (refused || requestLog.isWatched(publisherId)))
    requestLog.addCall(publisherId, () => callOf(request, answered));
}

/**
 * Returns the publisher to whose log calls with an unknown key are added. This is only possible if there is exactly one
 * publisher. Otherwise returns null.
 */
function onlyPublisher({ publishers }: Snapshot): number | null {
  const [first, second] = publishers.keys();
  return second === undefined ? (first ?? null) : null;
}

function callOf(request: FastifyRequest, { status, ms, body: payload }: Answered): LiveCall {
  const { visible: query, hiddenTexts: ofQuery } = maskRequest(request.query);
  const { visible: body, hiddenTexts: ofBody } = maskRequest(isManagement(request) ? null : request.body);
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

/** Maximum size of a recorded response, in bytes. */
const maxAnswerBytes = 256 * 1024;

/** Parses a response. Returns null if it is not JSON or too long. */
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
