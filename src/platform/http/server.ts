import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { LogController } from 'fastify';
import { AppError, type ErrorCode } from '../errors.ts';
import { loggedUrl } from '../logger.ts';
import type { App, PlatformDeps } from '../ports.ts';
import { maxBodyBytes } from './body-parsing.ts';
import { errorBody, sendError, toAppError } from './error-handler.ts';
import { serverTimeouts } from './idle-connections.ts';
import { lazySerializers } from './lazy-serializers.ts';

/** The HTTP server without routes. */
export function createServer({ config, logger }: Pick<PlatformDeps, 'config' | 'logger'>): App {
  const prefix = Math.random().toString(36).slice(2, 8);
  let requests = 0;
  const nextId = (): string => `${prefix}-${(++requests).toString(36)}`;
  const hops = config.trustProxy;
  return Fastify({
    loggerInstance: logger,
    // Log lines name the request's id; a child logger for each request costs more than most requests log.
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: typeof hops === 'number' ? (_address: string, hop: number) => hop < hops : hops,
    bodyLimit: maxBodyBytes,
    requestTimeout: serverTimeouts.requestTimeout,
    http: serverTimeouts,
    keepAliveTimeout: 72_000,
    return503OnClosing: false, // requests on open connections are still served while closing, with connection: close
    forceCloseConnections: 'idle',
    genReqId: nextId,
    frameworkErrors: (err, request, reply) => void sendError(request, reply, toAppError(err)),
    clientErrorHandler: (err, socket) => answerUnparsable(err, socket, nextId()),
    schemaController: { compilersFactory: { buildSerializer: lazySerializers } },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true, allErrors: false } },
  }) as unknown as App;
}

/** Errors of Node's HTTP parser and time limits. */
const connectionErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Answers a request that Node's parser gave up, and closes its connection. */
function answerUnparsable(err: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (!socket.writable) return void socket.destroy(err);
  const error = new AppError(connectionErrors[err.code ?? ''] ?? 'malformed_request');
  const body = JSON.stringify(errorBody(error, requestId));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** One line for each request at level debug; failures are logged where they are handled. */
export function registerRequestLog(app: App, logger: PlatformDeps['logger']): void {
  if (!logger.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, id } = request;
    request.log.debug(
      { method, url: loggedUrl(url), requestId: id, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request',
    );
  });
}
