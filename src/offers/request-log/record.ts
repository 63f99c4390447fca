import type { FastifyRequest } from 'fastify';
import { type Caller, findPresentedCaller } from '../../accounts/caller.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import { type AppError, type ErrorCode, type ErrorDetail, errorStatuses } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { bytesOf, type HotObserver } from '../../platform/http/hot-routes.ts';
import { loggedUrl, pathWithoutUsers } from '../../platform/logger.ts';
import { type Problem, storedProblem } from '../../platform/problem.ts';
import type { ApiLog } from './api-log.ts';
import { maskAnswer, maskRequest, maskText } from './mask.ts';
import { type RequestLog, storable } from './request-log.ts';
import { isRefused, type LiveCall } from './store.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Notices about request values that were ignored or dropped. */
    notes?: ErrorDetail[];
  }
}

type RecordDeps = { requestLog: RequestLog; apiLog: ApiLog; catalog: CatalogStore; now: () => number };

/** Response to a call. `ms` is the time spent in the service, in milliseconds. */
type Answered = { route: string; status: number; ms: number; error: AppError | null; body: () => unknown };

/** Route to log for unknown paths. Logging the paths themselves would let anyone fill the log. */
const unknownRoute = '(unknown)';

/**
 * Logs calls to all routes of a plugin that `included` accepts. Successful management calls are logged without their
 * content, because it may contain secrets.
 */
export function recordCalls(app: App, deps: RecordDeps, included: (request: FastifyRequest) => boolean): void {
  app.addHook('onSend', (request, { statusCode: status, elapsedTime: ms }, body, done) => {
    if (included(request)) {
      const route = request.routeOptions.url ?? unknownRoute;
      recordCall(request, { route, status, ms, error: request.refusal, body: () => body }, deps);
    }
    done(null, body);
  });
}

export const isManagement = ({ url }: FastifyRequest): boolean => url.startsWith('/manage/');

/** Creates an observer that logs calls for offers and adds notices about ignored, dropped and refused values. */
export const createOfferObserver =
  (deps: RecordDeps): HotObserver =>
  (request, { status, body, error }, ms, route) => {
    recordCall(request, { route, status, ms, error: error ?? null, body: () => bytesOf(body) }, deps);
    if (error !== undefined || request.notes !== undefined) recordNotices(request, error, deps);
  };

/** Error codes that are not caused by the content of a request and therefore create no notice. */
const unnotedCodes: ReadonlySet<ErrorCode> = new Set(['too_many_requests', 'client_closed']);

function recordNotices(
  request: FastifyRequest,
  error: AppError | undefined,
  { requestLog, catalog, now }: RecordDeps,
): void {
  const caller = findPresentedCaller(catalog.current(), request, now());
  if (caller === null) return;
  const { publisher } = caller;
  for (const note of request.notes ?? []) requestLog.addNotice(publisher.id, note, false);
  if (error === undefined || error.status >= 500 || unnotedCodes.has(error.code)) return;
  for (const detail of error.details ?? [{ path: '', message: error.problem }])
    requestLog.addNotice(publisher.id, detail, true);
}

/**
 * Logs a call for the publisher that owns its key. Every call is added to the API log. Its content is also logged if
 * someone is watching the publisher's live page or the call was rejected. Otherwise, the call is only counted.
 */
function recordCall(request: FastifyRequest, answered: Answered, deps: RecordDeps): void {
  const { requestLog, catalog, now } = deps;
  if (answered.status === errorStatuses.client_closed) return;
  const refused = isRefused(answered.status);
  const isWatched = requestLog.isAnyWatched();
  if (!refused && !isWatched && request.caller === null) return;
  const snapshot = catalog.current();
  const caller = findPresentedCaller(snapshot, request, now());
  const publisherId = caller?.publisher.id ?? (refused ? onlyPublisher(snapshot) : null);
  if (publisherId === null) return;
  addToApiLog(request, answered, { publisherId, caller }, deps.apiLog);
  if (refused || (isWatched && requestLog.isWatched(publisherId) && !isManagement(request)))
    requestLog.addCall(publisherId, () => callOf(request, answered));
}

/** Maximum number of invalid fields that the API log names, and maximum length of their names. */
const maxFields = 5;
const maxFieldName = 100;

function addToApiLog(
  request: FastifyRequest,
  { route, status, ms, error }: Answered,
  { publisherId, caller }: { publisherId: number; caller: Caller | null },
  apiLog: ApiLog,
): void {
  const { method } = request;
  const isChange = method !== 'GET' && method !== 'HEAD' && isManagement(request);
  apiLog.add(publisherId, { method, route, status, code: error?.code ?? '', ms }, isChange, () => ({
    path: loggedUrl(request.url),
    fields: (error?.details ?? []).slice(0, maxFields).map(({ path }) => storable(maskText(path), maxFieldName)),
    requestId: request.id,
    keyId: caller?.key?.id ?? null,
  }));
}

/**
 * Returns the publisher to whose log calls with an unknown key are added. This is only possible if there is exactly one
 * publisher. Otherwise returns null.
 */
function onlyPublisher({ publishers }: Snapshot): number | null {
  const [first, second] = publishers.keys();
  return second === undefined ? (first ?? null) : null;
}

function callOf(request: FastifyRequest, { status, ms, error, body: payload }: Answered): LiveCall {
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
    error: isRefused(status) && answer?.error ? withStoredMessages(answer.error, error) : null,
    notes: (request.notes ?? []).map(({ path, message }) => ({ path, message: storedProblem(message) })),
    sessionId: typeof sessionId === 'string' ? sessionId : null,
  };
}

type Refusal = NonNullable<LiveCall['error']>;

/**
 * Replaces the English messages of an error and its invalid fields with their stored form, so that they can be shown in
 * the reader's language. A message whose values were masked stays in English.
 */
function withStoredMessages(masked: Refusal, error: AppError | null): Refusal {
  const storedForm = (text: string, message: Problem | undefined): string =>
    message !== undefined && String(message) === text ? storedProblem(message) : text;
  const withMessage = { ...masked, message: storedForm(masked.message, error?.problem) };
  if (!Array.isArray(masked.details)) return withMessage;
  const details = (masked.details as NonNullable<Refusal['details']>).map((detail, at) => ({
    ...detail,
    message: storedForm(detail.message, error?.details?.[at]?.message),
  }));
  return { ...withMessage, details };
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
