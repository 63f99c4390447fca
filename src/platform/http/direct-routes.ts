import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type ParsedUrlQuery, parse } from 'node:querystring';
import { AppError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { corsOptions } from './cors.ts';
import { errorHeaders, errorText, handleFailure } from './error-handler.ts';
import type { FailureLimit } from './failure-limit.ts';
import { logRequest } from './request-log.ts';
import { endRequest, startRequest } from './request-trace.ts';

/** An answer as Node writes it in one piece. `head`: names and values in turn; `body`: a character for each byte. */
export type DirectAnswer = { status: number; head: readonly string[]; body: string };

/** Answers GET and HEAD of a path. @throws AppError, answered in the error form */
type DirectHandler = (request: IncomingMessage, query: ParsedUrlQuery) => Promise<DirectAnswer>;

/**
 * Paths that are served without the framework, whose routing, hooks and reply cost more than all the rest of a beacon
 * (docs/performance.md#one-road). They are public: any origin may call them.
 */
export type DirectRoutes = {
  add: (path: string, handler: DirectHandler) => void;
  /** Serves a request for one of the paths. @returns false where it is for none of them */
  serve: (server: Server, request: IncomingMessage, response: ServerResponse) => boolean;
};

type DirectRouteDeps = {
  logger: Logger;
  failures: FailureLimit;
  metrics: Pick<Metrics, 'requestEnded'>;
  clientAddress: (request: IncomingMessage) => string;
  tracing: Tracing;
  nextRequestId: () => string;
};

const allowOrigin = { 'access-control-allow-origin': corsOptions.origin };

export function directAnswer(status: number, headers: Record<string, string>, body: Buffer): DirectAnswer {
  const all = { ...allowOrigin, ...headers, 'content-length': String(body.length) };
  return { status, head: Object.entries(all).flat(), body: body.toString('latin1') };
}

const preflight = directAnswer(
  204,
  {
    'access-control-allow-methods': corsOptions.methods.join(', '),
    'access-control-allow-headers': corsOptions.allowedHeaders.join(', '),
    'access-control-max-age': String(corsOptions.maxAge),
  },
  Buffer.alloc(0),
);

export function createDirectRoutes(deps: DirectRouteDeps): DirectRoutes {
  const { logger, metrics, tracing, clientAddress, nextRequestId } = deps;
  const handlers = new Map<string, DirectHandler>();

  async function answerRequest(server: Server, request: IncomingMessage, response: ServerResponse, target: Target) {
    const startMs = performance.now();
    const { path, query, handler } = target;
    const [method, url, id] = [request.method as string, request.url as string, nextRequestId()];
    const span = tracing.isOn ? startRequest(tracing, request, path) : null;
    let answer: DirectAnswer;
    try {
      answer = await answerOf(handler, request, query);
    } catch (err) {
      answer = errorAnswer(handleFailure(err, { method, url, id, ip: clientAddress(request) }, deps), id);
    }
    send(response, answer, !server.listening);
    if (span !== null) endRequest(span, { method, route: path, status: answer.status, id });
    const ms = performance.now() - startMs;
    metrics.requestEnded(path, answer.status, ms);
    logRequest(logger, { method, url, id, status: answer.status, ms });
  }

  return {
    add: (path, handler) => void handlers.set(path, handler),
    serve: (server, request, response) => {
      const { path, query } = splitUrl(request.url as string);
      const handler = handlers.get(path);
      if (handler === undefined) return false;
      void answerRequest(server, request, response, { path, query, handler });
      return true;
    },
  };
}

type Target = { path: string; query: string; handler: DirectHandler };

const allowedMethods = 'GET, HEAD';

function answerOf(
  handler: DirectHandler,
  request: IncomingMessage,
  query: string,
): Promise<DirectAnswer> | DirectAnswer {
  const { method } = request;
  if (method === 'GET' || method === 'HEAD') return handler(request, parse(query));
  if (method === 'OPTIONS') return preflight;
  throw new AppError('method_not_allowed');
}

function errorAnswer(error: AppError, requestId: string): DirectAnswer {
  const allow = error.code === 'method_not_allowed' ? { allow: allowedMethods } : {};
  return directAnswer(error.status, { ...errorHeaders(error), ...allow }, Buffer.from(errorText(error, requestId)));
}

/** Once the server does not listen any more it is closing, and so do the connections that it has answered. */
function send(response: ServerResponse, { status, head, body }: DirectAnswer, isClosing: boolean): void {
  response.writeHead(status, isClosing ? [...head, 'connection', 'close'] : [...head]);
  if (body !== '' && response.req.method !== 'HEAD') {
    // As text the body goes out with the head, in one piece; given to `end`, it would be two.
    response.cork();
    response.write(body, 'latin1');
    response.uncork();
  }
  response.end();
}

const absoluteForm = /^https?:\/\/[^/?]*/i;

/** The path of a request as routes name it, also in absolute form or percent-encoded, and its query. */
function splitUrl(url: string): { path: string; query: string } {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? '' : url.slice(mark + 1);
  if (path.startsWith('/') && !path.includes('%')) return { path, query };
  try {
    return { path: decodeURI(path.replace(absoluteForm, '')), query };
  } catch {
    return { path, query }; // malformed: no route has it
  }
}
