import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppError } from '../errors.ts';
import { type Logger, loggedUrl } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { App } from './app.ts';
import { corsOptions } from './cors.ts';
import { errorHeaders, errorText, handleFailure } from './error-handler.ts';
import type { FailureLimit } from './failure-limit.ts';
import { endRequest, startRequest } from './request-trace.ts';

/** Response body that writes itself into the output buffer. `writeTo` fills a buffer of exactly `length` bytes. */
export type Pieces = { length: number; writeTo: (bytes: Buffer) => void };

/**
 * Response that is sent in one write. `head` alternates header names and values. If `body` is a string, each character
 * must be one byte. `error` is the error that the response reports, if any.
 */
export type HotAnswer = {
  status: number;
  head: readonly string[];
  body: string | Buffer | Pieces;
  error?: AppError;
};

/**
 * Async handler of a hot route.
 * @throws AppError and framework errors, which become error responses
 */
type HotHandler = (request: FastifyRequest) => Promise<HotAnswer>;

/**
 * Observer of a plugin's responses. `ms` is the time from reading the request until the response is sent, in
 * milliseconds.
 */
export type HotObserver = (request: FastifyRequest, answer: HotAnswer, ms: number, route: string) => void;

/** Installs a plugin's error handler in the scope without hooks, and wraps the plugin's route handlers. */
export type HotRoutes = (
  plugin: App,
  observer?: HotObserver,
) => (route: string, handler: HotHandler) => (request: FastifyRequest, reply: FastifyReply) => void;

/** Options of a route whose schema is for documentation only. The route handler validates the request. */
export const unvalidated = { validatorCompiler: () => () => true };

const allowOrigin = { 'access-control-allow-origin': corsOptions.origin };

/** Builds the response headers, without the content length. They allow any origin (CORS). */
export const hotHead = (headers: Record<string, string>): string[] =>
  Object.entries({ ...allowOrigin, ...headers }).flat();

export const hotAnswer = (status: number, headers: Record<string, string>, body: Buffer): HotAnswer => ({
  status,
  head: [...hotHead(headers), 'content-length', String(body.length)],
  body: body.toString('latin1'),
});

type HotDeps = { logger: Logger; failures: FailureLimit; metrics: Metrics; tracing: Tracing };

/**
 * Creates the scope without hooks, for the most frequent routes. Hook runners and the reply object would cost more than
 * everything else in a beacon request (docs/performance.md#hot-routes). Therefore, the handlers directly call the
 * functions that other routes run as hooks.
 */
export function createHotRoutes(app: App, { logger, failures, metrics, tracing }: HotDeps): HotRoutes {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });

  return (plugin, observe) => {
    function errorAnswer(request: FastifyRequest, err: unknown): HotAnswer {
      const error = handleFailure(err, request, { failures, logger });
      const body = Buffer.from(errorText(error, request.id));
      return { ...hotAnswer(error.status, errorHeaders(error), body), error };
    }

    function finish(request: FastifyRequest, answer: HotAnswer, route: string, startMs: number): void {
      const { status } = answer;
      const ms = performance.now() - startMs;
      try {
        observe?.(request, answer, ms, route);
      } catch (err) {
        // The response has already been sent, so the error can only be logged.
        logger.error({ err }, 'recording request failed');
      }
      metrics.requestEnded(route, status, ms);
      logRequest(logger, request, status, ms);
    }

    // Handles errors that occur before the handler runs, for example because the body is unreadable.
    plugin.setErrorHandler((err, request, reply) => {
      reply.hijack();
      const { url: route = 'unknown' } = request.routeOptions;
      const span = tracing.isOn ? startRequest(tracing, request, route) : null;
      const answer = errorAnswer(request, err);
      writeAnswer(reply.raw, answer, { isLast: isClosing || reply.hasHeader('connection') });
      finish(request, answer, route, performance.now());
      if (span !== null) endRequest(span, request, route, answer.status);
    });

    function serve(request: FastifyRequest, reply: FastifyReply, route: string, handler: HotHandler): void {
      const startMs = performance.now();
      const span = tracing.isOn ? startRequest(tracing, request, route) : null;
      request.trace = span;
      const send = (answer: HotAnswer): void => {
        writeAnswer(reply.raw, answer, { isLast: isClosing });
        finish(request, answer, route, startMs);
        if (span !== null) endRequest(span, request, route, answer.status);
      };
      void handler(request).then(send, (err: unknown) => send(errorAnswer(request, err)));
    }

    return (route, handler) => (request, reply) => {
      reply.hijack();
      serve(request, reply, route, handler);
    };
  };
}

/** Copies a response body into its own buffer. */
export function bytesOf(body: HotAnswer['body']): Buffer {
  if (typeof body === 'string') return Buffer.from(body, 'latin1');
  if (Buffer.isBuffer(body)) return body;
  const bytes = Buffer.allocUnsafe(body.length);
  body.writeTo(bytes);
  return bytes;
}

const connectionClose = ['connection', 'close'];

/** Writes the head and body in one piece. Passing the body to `end` would add an empty chunk after it. */
function writeAnswer(
  response: FastifyReply['raw'],
  { status, head, body }: HotAnswer,
  { isLast }: { isLast: boolean },
): void {
  response.writeHead(status, isLast ? [...head, ...connectionClose] : [...head]);
  if (response.req.method !== 'HEAD') {
    response.cork();
    if (typeof body === 'string') response.write(body, 'latin1');
    else if (Buffer.isBuffer(body)) response.write(body);
    else response.write(fill(body));
    response.uncork();
    if (response.writableLength > 0) memory = Buffer.alloc(0);
  }
  response.end();
}

/**
 * Buffer that is reused for one response after the other. This works because the kernel has nearly always accepted the
 * whole response when `uncork` returns. If it has not, the response keeps this buffer, and a new one is allocated for
 * the next response (docs/adr/0014-memory-of-sent-answers.md).
 */
let memory: Buffer = Buffer.alloc(0);

/** Minimum buffer size, in bytes. Most responses are smaller. */
const leastMemory = 64 * 1024;

function fill(pieces: Pieces): Buffer {
  if (memory.length < pieces.length) memory = Buffer.allocUnsafeSlow(Math.max(pieces.length, leastMemory));
  const bytes = memory.subarray(0, pieces.length);
  pieces.writeTo(bytes);
  return bytes;
}

/** Logs one line per request at debug level. Failures are logged where they are handled. */
function logRequest(
  logger: Logger,
  { method, url, id }: { method: string; url: string; id: string },
  status: number,
  ms: number,
): void {
  if (!logger.isLevelEnabled('debug')) return;
  logger.debug({ method, url: loggedUrl(url), requestId: id, status, ms: Math.round(ms) }, 'request');
}

/** Registers the request log for all routes in a scope. */
export function registerRequestLog(app: App, logger: Logger): void {
  if (!logger.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async (request, { statusCode, elapsedTime }) =>
    logRequest(logger, request, statusCode, elapsedTime),
  );
}
