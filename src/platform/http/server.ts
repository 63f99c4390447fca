import { createServer as createHttpServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { LogController } from 'fastify';
import { AppError, type ErrorCode } from '../errors.ts';
import type { App, PlatformDeps } from '../ports.ts';
import { maxBodyBytes } from './body-parsing.ts';
import { createClientAddress, trustOf } from './client-address.ts';
import { createDirectRoutes, type DirectRoutes } from './direct-routes.ts';
import { errorText, handleFailure, logAnswer, sendError } from './error-handler.ts';
import { serverTimeouts } from './idle-connections.ts';
import { lazySerializers, lazyValidators } from './lazy-compilers.ts';

/** Longest parameter of a path (UTF-16 units): names of placements have 128 characters. */
const maxParamLength = 256;

/** Numbers the requests of a process. */
function createRequestIds(): () => string {
  const prefix = Math.random().toString(36).slice(2, 8);
  let requests = 0;
  return () => `${prefix}-${(++requests).toString(36)}`;
}

type ServerDeps = Pick<PlatformDeps, 'config' | 'logger' | 'failures' | 'metrics' | 'tracing'>;

/** The HTTP server without routes: the framework, and before it the few paths that are served directly. */
export function createServer({ config, logger, failures, metrics, tracing }: ServerDeps): {
  app: App;
  direct: DirectRoutes;
} {
  const nextRequestId = createRequestIds();
  const clientAddress = createClientAddress(config.trustProxy);
  const direct = createDirectRoutes({ logger, failures, metrics, tracing, clientAddress, nextRequestId });
  const app = Fastify({
    serverFactory: (handler) => listenFirst(direct, handler),
    loggerInstance: logger,
    // Log lines name the request's id; a child logger for each request costs more than most requests log.
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustOf(config.trustProxy),
    bodyLimit: maxBodyBytes,
    routerOptions: { maxParamLength },
    return503OnClosing: false, // requests on open connections are still served while closing, with connection: close
    forceCloseConnections: 'idle',
    pluginTimeout: 0, // on a starved machine a plugin takes long to register; that is no reason not to start
    genReqId: nextRequestId,
    frameworkErrors: (err, request, reply) =>
      void sendError(request, reply, handleFailure(err, request, { failures, logger })),
    clientErrorHandler: (err, socket) => {
      const id = nextRequestId();
      const error = answerUnparsable(err, socket, id);
      if (error !== null) logAnswer({ method: '', url: '', id }, error, { failures, logger });
    },
    schemaController: { compilersFactory: { buildSerializer: lazySerializers, buildValidator: lazyValidators } },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true, allErrors: false } },
  }) as unknown as App;
  return { app, direct };
}

function listenFirst(direct: DirectRoutes, handler: RequestListener): Server {
  const server = createHttpServer(serverTimeouts, (request, response) => {
    if (!direct.serve(server, request, response)) handler(request, response);
  });
  return server;
}

/** Errors of Node's HTTP parser and time limits. */
const connectionErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Answers a request that Node's parser gave up, and closes its connection. @returns null: there was none to answer */
function answerUnparsable(err: NodeJS.ErrnoException, socket: Socket, requestId: string): AppError | null {
  if (!socket.writable) {
    socket.destroy(err);
    return null;
  }
  const error = new AppError(connectionErrors[err.code ?? ''] ?? 'malformed_request');
  const body = errorText(error, requestId);
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  return error;
}
