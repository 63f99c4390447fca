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

/** Maximum length of a path parameter, in UTF-16 code units. Placement names have up to 128 characters. */
const maxParamLength = 256;

/** Creates a generator of request IDs, which are a random prefix and a counter. */
function createRequestIds(): () => string {
  const prefix = Math.random().toString(36).slice(2, 8);
  let requests = 0;
  return () => `${prefix}-${(++requests).toString(36)}`;
}

/**
 * Whether to trust the proxy at an address to report the client address. `hop` is the number of proxies between the
 * given proxy and this server.
 */
type Trust = (address: string, hop: number) => boolean;

/** Converts the TRUST_PROXY setting to the format that Fastify expects. */
function trustOf(setting: Config['trustProxy']): Trust | false {
  if (typeof setting === 'boolean') return setting && (() => true);
  return typeof setting === 'number' ? (_address, hop) => hop < setting : proxyAddr.compile(setting);
}

type ServerDeps = { config: Config; logger: Logger; failures: FailureLimit };

/** Creates the HTTP server without any routes. */
export function createServer({ config, logger, failures }: ServerDeps): App {
  const nextRequestId = createRequestIds();
  const app = Fastify({
    http: serverTimeouts,
    // Set both timeouts explicitly. Otherwise, Fastify would overwrite them with its defaults.
    requestTimeout: serverTimeouts.requestTimeout,
    keepAliveTimeout: serverTimeouts.keepAliveTimeout,
    // If the `logger` option were used, Fastify would listen for the end of every response even if there is nothing to
    // log.
    childLoggerFactory: () => logger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustOf(config.trustProxy),
    bodyLimit: maxBodyBytes,
    routerOptions: { maxParamLength },
    return503OnClosing: false, // requests on open connections are still served while closing, with connection: close
    forceCloseConnections: 'idle',
    pluginTimeout: 0, // registering a plugin may take long on a busy machine, which should not prevent the start
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

/** Error codes for HTTP parser errors and timeouts, by the error code in Node. */
const connectionErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Time that a client has to read the error response before its connection is closed, in milliseconds. */
const lingerMs = 1000;

/**
 * Sends an error response for a request that Node's HTTP parser rejected, and closes the connection even if the client
 * is still sending.
 * @returns null if there was no request to respond to
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
  // Destroy the socket, because closing only our side would leave the connection open for as long as the client keeps
  // sending.
  setTimeout(() => socket.destroy(), lingerMs).unref();
  return error;
}
