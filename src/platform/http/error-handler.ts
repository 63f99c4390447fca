import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseUnavailable } from '../db/pool.ts';
import { AppError, databaseUnavailable, type ErrorCode, type ErrorDetail } from '../errors.ts';
import { loggedUrl } from '../logger.ts';
import { readsPages, sendErrorPage } from './error-pages.ts';
import type { FailureLimit } from './failure-limit.ts';
import { detailsOf } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Error in the response, or null. Hot routes pass the error to their observer instead. */
    refusal: AppError | null;
  }
}

/** Response body of every error (docs/reference/access-and-errors.md#errors). */
type ErrorBody = {
  message: string;
  error: { code: string; message: string; details?: readonly ErrorDetail[] };
  request_id: string;
};

/**
 * Error codes that count towards the failure limit per client address: invalid key, token or signature, unknown click,
 * unknown route.
 */
export const limitedCodes = new Set<ErrorCode>([
  'missing_key',
  'unknown_key',
  'invalid_token',
  'not_found',
  'method_not_allowed',
  'click_not_found',
  'invalid_signature',
]);

const frameworkCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_json',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'malformed_json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_MAX_PARAM_LENGTH: 'uri_too_long',
  FST_ERR_BAD_URL: 'malformed_request',
};

const codeByStatus: Record<number, ErrorCode> = {
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'body_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  429: 'too_many_requests',
  503: 'unavailable',
};

/** Serialises the body of an error response. */
export function errorText({ code, message, details }: AppError, requestId: string): string {
  const error = { code, message, ...(details === undefined ? {} : { details }) };
  return JSON.stringify({ message, error, request_id: requestId } satisfies ErrorBody);
}

/**
 * Converts any thrown value into an error of the error catalogue. An unexpected error becomes `internal`, without its
 * message.
 */
export function toAppError(err: unknown): AppError {
  if (err instanceof AppError) return err;
  if (isDatabaseUnavailable(err)) return databaseUnavailable(err);
  const { code, statusCode, validation, validationContext } = err as Partial<FastifyError>;
  if (validation !== undefined) {
    const details = detailsOf(validation, validationContext ?? 'body');
    return new AppError('invalid_request', { details });
  }
  const frameworkCode = frameworkCodes[code ?? ''] ?? codeByStatus[statusCode ?? 500];
  if (frameworkCode !== undefined) return new AppError(frameworkCode, { cause: err });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AppError(err instanceof SyntaxError ? 'malformed_json' : 'malformed_request', { cause: err });
  }
  return new AppError('internal', { cause: err });
}

/** Returns the headers of an error response. */
export const errorHeaders = ({ retryAfterS }: AppError): Record<string, string> => ({
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
  ...(retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }),
});

export function sendError(request: FastifyRequest, reply: FastifyReply, error: AppError): FastifyReply {
  request.refusal = error;
  const { errorPages } = request.routeOptions.config;
  if (errorPages !== undefined && readsPages(request)) return sendErrorPage(reply, error, errorPages);
  return reply.code(error.status).headers(errorHeaders(error)).send(errorText(error, request.id));
}

/** Failed request. `ip` is the client address. */
export type FailedRequest = Pick<FastifyRequest, 'method' | 'url' | 'id' | 'ip' | 'raw'>;

export type FailureDeps = {
  failures: FailureLimit;
  logger: Pick<FastifyBaseLogger, 'debug' | 'info' | 'warn' | 'error'>;
};

/**
 * Returns the error to send for a failed request. Counts it towards the client's failure limit, and logs server errors.
 */
export function handleFailure(err: unknown, request: FailedRequest, { failures, logger }: FailureDeps): AppError {
  const error = toAppError(err);
  if (hasLeft(request, err)) {
    logger.debug(
      { method: request.method, url: loggedUrl(request.url), requestId: request.id },
      'client closed the connection',
    );
    return new AppError('client_closed');
  }
  const answered = limitedCodes.has(error.code) ? (failures.charge(request.ip) ?? error) : error;
  logAnswer(request, answered, { failures, logger });
  return answered;
}

/** Error codes that occur when work is aborted because the client disconnected. */
const abortCodes = new Set(['ECONNRESET', 'ECONNABORTED', 'ERR_STREAM_PREMATURE_CLOSE']);

/**
 * Whether a request failed because its client disconnected. The server is not at fault, and nobody will read the
 * response.
 */
function hasLeft({ raw }: FailedRequest, err: unknown): boolean {
  const { name, code } = err as { name?: string; code?: string };
  return raw.socket.destroyed && (name === 'AbortError' || abortCodes.has(code ?? ''));
}

/**
 * Logs an error response with its request ID, at the default level and up to a rate limit. A database outage is not
 * logged here, because it affects every request. The health check logs it once instead.
 */
export function logAnswer(
  { method, url, id }: { method: string; url: string; id: string },
  error: AppError,
  { failures, logger }: FailureDeps,
): void {
  const { status, code, cause } = error;
  const about = { method, url: loggedUrl(url), requestId: id };
  if (status >= 500 && (status !== 503 || cause !== undefined))
    logger[status === 503 ? 'warn' : 'error']({ err: cause ?? error, ...about }, 'request failed');
  else logger[failures.mayLog() ? 'info' : 'debug']({ ...about, status, code }, 'request refused');
}

/** Returns the HTTP methods for which a path has a route. */
export type MethodsAt = (path: string) => readonly string[];

/** Starts recording all routes that are registered from now on. */
export function watchRoutes(app: FastifyInstance): MethodsAt {
  const routes: { method: string; pattern: RegExp }[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    const source = url
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:[A-Za-z_]+/g, '[^/]+')
      .replace(/\*/g, '.*');
    for (const routeMethod of [method].flat()) routes.push({ method: routeMethod, pattern: new RegExp(`^${source}$`) });
  });
  return (path) => {
    const matches = routes.filter(({ pattern }) => pattern.toString() !== '/^.*$/' && pattern.test(path));
    return [...new Set(matches.map(({ method }) => method))];
  };
}

/** Registers handlers that turn every failure in a scope, and every request without a route, into an error response. */
export function registerErrorHandling(scope: FastifyInstance, failures: FailureLimit, methodsAt: MethodsAt): void {
  scope.setErrorHandler((err, request, reply) =>
    sendError(request, reply, handleFailure(err, request, { failures, logger: request.log })),
  );
  scope.setNotFoundHandler((request, reply) => {
    const allowed = methodsAt(request.url.split('?', 1)[0] as string);
    reply.header('access-control-allow-origin', '*'); // allows pages to read the error of a wrong URL
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    throw new AppError(allowed.length > 0 ? 'method_not_allowed' : 'not_found');
  });
}
