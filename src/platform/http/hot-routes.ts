import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Logger, loggedUrl } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { App } from './app.ts';
import { corsOptions } from './cors.ts';
import { errorHeaders, errorText, handleFailure } from './error-handler.ts';
import type { FailureLimit } from './failure-limit.ts';
import { endRequest, startRequest } from './request-trace.ts';

/** Bytes that are made where they are wanted. `writeTo` fills a buffer of that length. */
export type Pieces = { length: number; writeTo: (bytes: Buffer) => void };

/** An answer as Node writes it in one piece. `head`: names and values in turn. `body`: text has a character a byte. */
export type HotAnswer = { status: number; head: readonly string[]; body: string | Buffer | Pieces };

/** An async function; @throws AppError and what the framework throws, answered in the error form */
type HotHandler = (request: FastifyRequest) => Promise<HotAnswer>;

/** What else is to happen with the requests of a plugin. */
export type HotObserver = {
  /** Of each request that fails, before it is answered. */
  failed?: (request: FastifyRequest, err: unknown) => void;
  /** `ms`: from when the request was read until its answer was handed to the connection. */
  answered?: (request: FastifyRequest, answer: HotAnswer, ms: number) => void;
};

/** Gives a plugin of the scope without hooks its error handler, and makes handlers of its routes. */
export type HotRoutes = (
  plugin: App,
  observer?: HotObserver,
) => (route: string, handler: HotHandler) => (request: FastifyRequest, reply: FastifyReply) => void;

/** A route whose schema documents it, and whose handler checks the request. */
export const unvalidated = { validatorCompiler: () => () => true };

const allowOrigin = { 'access-control-allow-origin': corsOptions.origin };

/** The head of an answer to any origin, but for the length of its body. */
export const hotHead = (headers: Record<string, string>): string[] =>
  Object.entries({ ...allowOrigin, ...headers }).flat();

export const hotAnswer = (status: number, headers: Record<string, string>, body: Buffer): HotAnswer => ({
  status,
  head: [...hotHead(headers), 'content-length', String(body.length)],
  body: body.toString('latin1'),
});

type HotDeps = { logger: Logger; failures: FailureLimit; metrics: Metrics; tracing: Tracing };

/**
 * The most frequent requests have routes in a scope without hooks, whose runners and whose reply cost more than all the
 * rest of a beacon (docs/performance.md#one-road): what hooks do for all others, their handlers do in plain calls.
 */
export function createHotRoutes(app: App, { logger, failures, metrics, tracing }: HotDeps): HotRoutes {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });

  return (plugin, { failed, answered } = {}) => {
    /** A request is answered whatever becomes of what is noted of it. */
    function observe(note: () => void): void {
      try {
        note();
      } catch (err) {
        logger.error({ err }, 'a request could not be noted');
      }
    }

    function errorAnswer(request: FastifyRequest, err: unknown): HotAnswer {
      if (failed !== undefined) observe(() => failed(request, err));
      const error = handleFailure(err, request, { failures, logger });
      return hotAnswer(error.status, errorHeaders(error), Buffer.from(errorText(error, request.id)));
    }

    function finish(request: FastifyRequest, answer: HotAnswer, route: string, startMs: number): void {
      const { status } = answer;
      const ms = performance.now() - startMs;
      if (answered !== undefined) observe(() => answered(request, answer, ms));
      metrics.requestEnded(route, status, ms);
      logRequest(logger, request, status, ms);
    }

    // What fails before the handler: a body that cannot be read.
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

/** A body in memory of its own. */
export function bytesOf(body: HotAnswer['body']): Buffer {
  if (typeof body === 'string') return Buffer.from(body, 'latin1');
  if (Buffer.isBuffer(body)) return body;
  const bytes = Buffer.allocUnsafe(body.length);
  body.writeTo(bytes);
  return bytes;
}

const connectionClose = ['connection', 'close'];

/** Head and body go out in one piece: given to `end`, the body would be followed by an empty one. */
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
 * What pieces are written to, one answer after the other. Nearly always the kernel has all of an answer when `uncork`
 * returns; else the answer keeps this memory, and the next one gets some of its own
 * (docs/adr/0014-memory-of-sent-answers.md).
 */
let memory: Buffer = Buffer.alloc(0);

/** The least that is allocated (bytes): most answers have less. */
const leastMemory = 64 * 1024;

function fill(pieces: Pieces): Buffer {
  if (memory.length < pieces.length) memory = Buffer.allocUnsafeSlow(Math.max(pieces.length, leastMemory));
  const bytes = memory.subarray(0, pieces.length);
  pieces.writeTo(bytes);
  return bytes;
}

/** One line for each request at level debug; failures are logged where they are handled. */
function logRequest(
  logger: Logger,
  { method, url, id }: { method: string; url: string; id: string },
  status: number,
  ms: number,
): void {
  if (!logger.isLevelEnabled('debug')) return;
  logger.debug({ method, url: loggedUrl(url), requestId: id, status, ms: Math.round(ms) }, 'request');
}

/** Logs the requests of a scope. */
export function registerRequestLog(app: App, logger: Logger): void {
  if (!logger.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async (request, { statusCode, elapsedTime }) =>
    logRequest(logger, request, statusCode, elapsedTime),
  );
}
