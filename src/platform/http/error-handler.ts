import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseUnavailable } from '../db/pool.ts';
import { AppError, databaseUnavailable, type ErrorCode, type ErrorDetail } from '../errors.ts';
import { loggedUrl } from '../logger.ts';
import { readsPages, sendErrorPage } from './error-pages.ts';
import type { FailureLimit } from './failure-limit.ts';
import { detailsOf } from './validation.ts';

/** The one form of every error answer (docs/interface.md#errors). */
export type ErrorBody = {
  message: string;
  error: { code: string; message: string; details?: readonly ErrorDetail[] };
  request_id: string;
};

/** Failures that are limited per client address: bad key, bad token, bad signature, unknown click, unknown route. */
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

export function errorBody(error: AppError, requestId: string): ErrorBody {
  const { code, message, details } = error;
  return { message, error: { code, message, ...(details === undefined ? {} : { details }) }, request_id: requestId };
}

/** Any failure as an error of the catalogue. An unexpected one becomes `internal`, without its message. */
export function toAppError(err: unknown): AppError {
  if (err instanceof AppError) return err;
  if (isDatabaseUnavailable(err)) return databaseUnavailable(err);
  const { code, statusCode, validation, validationContext } = err as Partial<FastifyError>;
  if (validation !== undefined) {
    const details = detailsOf(validation, validationContext ?? 'body');
    return new AppError('invalid_request', { details });
  }
  const known = frameworkCodes[code ?? ''] ?? codeByStatus[statusCode ?? 500];
  if (known !== undefined) return new AppError(known, { cause: err });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AppError(err instanceof SyntaxError ? 'malformed_json' : 'malformed_request', { cause: err });
  }
  return new AppError('internal', { cause: err });
}

export function sendError(request: FastifyRequest, reply: FastifyReply, error: AppError): FastifyReply {
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  const { errorPages } = request.routeOptions.config;
  if (errorPages !== undefined && readsPages(request)) return sendErrorPage(reply, error, errorPages);
  return reply
    .code(error.status)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(error, request.id)));
}

/** The database's outage is logged once, by its health check; requests refused during it are logged at `debug`. */
function logFailure(request: FastifyRequest, error: AppError): void {
  const level = error.status !== 503 ? 'error' : error.cause === undefined ? 'debug' : 'warn';
  request.log[level](
    { err: error.cause ?? error, method: request.method, url: loggedUrl(request.url), requestId: request.id },
    'request failed',
  );
}

/** Maps every failure to the one error form, limits failing clients and logs server errors. */
export function registerErrorHandling(app: FastifyInstance, failures: FailureLimit): void {
  app.setErrorHandler((err, request, reply) => {
    let error = toAppError(err);
    if (limitedCodes.has(error.code)) error = failures.charge(request.ip) ?? error;
    if (error.status >= 500) logFailure(request, error);
    return sendError(request, reply, error);
  });

  const routes: { method: string; pattern: RegExp }[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    const source = url
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:[A-Za-z_]+/g, '[^/]+')
      .replace(/\*/g, '.*');
    for (const one of [method].flat()) routes.push({ method: one, pattern: new RegExp(`^${source}$`) });
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] as string;
    const allowed = routes
      .filter((route) => route.pattern.toString() !== '/^.*$/' && route.pattern.test(path))
      .map((route) => route.method);
    reply.header('access-control-allow-origin', '*'); // so that a page can read the error of a wrong address
    if (allowed.length > 0) reply.header('allow', [...new Set(allowed)].join(', '));
    throw new AppError(allowed.length > 0 ? 'method_not_allowed' : 'not_found');
  });
}
