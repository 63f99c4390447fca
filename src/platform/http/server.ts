import { STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import Fastify, { LogController } from 'fastify';
import type { Config } from '../../config.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { App } from './app.ts';
import { maxBodyBytes } from './body-parsing.ts';
import { errorText, handleFailure, logAnswer, sendError } from './error-handler.ts';
import type { FailureLimit } from './failure-limit.ts';
import { serverTimeouts } from './idle-connections.ts';
import { lazySerializers, lazyValidators, validatorOptions } from './validation.ts';

/** Longest parameter of a path (UTF-16 units): names of placements have 128 characters. */
const maxParamLength = 256;

/** Numbers the requests of a process. */
function createRequestIds(): () => string {
  const prefix = Math.random().toString(36).slice(2, 8);
  let requests = 0;
  return () => `${prefix}-${(++requests).toString(36)}`;
}

/** Whether the proxy at an address, `hop` proxies away from us, is trusted to name the client. */
type Trust = (address: string, hop: number) => boolean;

/** TRUST_PROXY as the framework takes it. */
function trustOf(setting: Config['trustProxy']): Trust | false {
  if (typeof setting === 'boolean') return setting && (() => true);
  return typeof setting === 'number' ? (_address, hop) => hop < setting : proxyAddr.compile(setting);
}

type ServerDeps = { config: Config; logger: Logger; failures: FailureLimit };

/** The HTTP server without routes. */
export function createServer({ config, logger, failures }: ServerDeps): App {
  const nextRequestId = createRequestIds();
  const app = Fastify({
    http: serverTimeouts,
    // The framework sets these two itself, to defaults of its own.
    requestTimeout: serverTimeouts.requestTimeout,
    keepAliveTimeout: serverTimeouts.keepAliveTimeout,
    // Given as its own logger, Fastify would listen to the end of each response, even with nothing to log.
    childLoggerFactory: () => logger,
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
    ajv: { customOptions: validatorOptions },
  }) as unknown as App;
  app.addHook('onListen', async () => {
    for (const { address, port } of app.addresses() as AddressInfo[]) logger.info({ address, port }, 'listening');
  });
  return app;
}

/** Errors of Node's HTTP parser and time limits. */
const connectionErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** How long a client whose connection is closed may take to read why (milliseconds). */
const lingerMs = 1000;

/**
 * Answers a request that Node's parser gave up, and closes its connection, also where the client keeps sending.
 * @returns null: there was none to answer
 */
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
  // The end of our half alone leaves the connection open for as long as the client drips bytes into its own.
  setTimeout(() => socket.destroy(), lingerMs).unref();
  return error;
}
