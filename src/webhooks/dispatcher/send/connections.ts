import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { type DialEvents, type DialOptions, dial, dialThrough } from './dial.ts';
import { skipInterimResponses } from './interim-responses.ts';
import { proxyErrorCode } from './proxy.ts';
import { type Clock, type ErrorClass, type Failure, type FetchResponse, fail } from './result.ts';

/** Maximum size of the response head, in bytes. */
const maxHeadBytes = 16_384;
/**
 * Maximum time for which a connection stays open while idle, in milliseconds. Unless the receiver announces a time,
 * connections stay open for 4 s.
 */
const maxIdleMs = 30_000;

/** Connection phase. */
export type Phase = 'tcp' | 'tls' | 'open';

export type PoolOptions = DialOptions & {
  /** All open connections of the sender. */
  connections: Set<Connection>;
};

/**
 * Connections to one origin at one list of vetted addresses. Each connection carries one call at a time, so the pool
 * has as many connections as concurrent calls.
 */
export type ConnectionPool = {
  take: () => Connection;
  release: (connection: Connection, reusable: boolean) => void;
  retire: () => void;
};

export function createConnectionPool(options: PoolOptions): ConnectionPool {
  const idle: Connection[] = [];
  let retired = false;
  const drop = (connection: Connection): void => {
    const at = idle.indexOf(connection);
    if (at < 0) return;
    idle.splice(at, 1);
    void connection.destroy();
  };
  return {
    take: () => {
      const connection = idle.pop() ?? openConnection(options, drop);
      connection.connectMs = null;
      connection.tlsMs = null;
      return connection;
    },
    release: (connection, reusable) => {
      if (reusable && !retired && connection.isOpen()) idle.push(connection);
      else void connection.destroy();
    },
    retire: () => {
      retired = true;
      for (const connection of idle.splice(0)) void connection.destroy();
    },
  };
}

export type Connection = {
  client: Client;
  phase: Phase;
  /**
   * TCP and TLS connection times of the current call, in milliseconds. Null if the connection was already open or did
   * not reach that phase.
   */
  connectMs: number | null;
  tlsMs: number | null;
  remoteAddress: string;
  /** Prepares an open connection for the response to the next request. */
  expectResponse: () => void;
  isOpen: () => boolean;
  /**
   * Closes the connection immediately, even while it is connecting. Resolves when it is closed. May be called
   * repeatedly.
   */
  destroy: () => Promise<void>;
};

/**
 * Creates an HTTP client with one socket. If the receiver closes the socket, the client opens a new one, again only to
 * the vetted addresses.
 */
function openConnection(options: PoolOptions, onDisconnect: (connection: Connection) => void): Connection {
  let socket: Socket | null = null;
  const connect: buildConnector.connector = (_options, callback) => {
    let startMs = options.now();
    const lap = (): number => options.now() - startMs;
    connection.phase = 'tcp';
    const events: DialEvents = {
      onTcp: () => {
        connection.phase = 'tls';
        connection.connectMs = lap();
        startMs = options.now();
      },
      onReady: (ready) => {
        connection.phase = 'open';
        if (options.url.protocol === 'https:') connection.tlsMs = lap();
        connection.remoteAddress =
          options.proxy === null ? (ready.remoteAddress ?? '') : (options.addresses[0]?.address ?? '');
        connection.expectResponse = skipInterimResponses(ready);
        callback(null, ready);
      },
      onError: (error) => callback(error, null),
    };
    if (options.proxy === null) socket = dial(options, events);
    else socket = dialThrough(options.proxy, options, events, (tunnel) => (socket = tunnel));
  };
  const client = new Client(options.url.origin, {
    connect,
    pipelining: 1,
    maxHeaderSize: maxHeadBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveMaxTimeout: maxIdleMs,
  });
  const connection: Connection = {
    client,
    phase: 'tcp',
    connectMs: null,
    tlsMs: null,
    remoteAddress: '',
    expectResponse: () => {},
    isOpen: () => socket !== null && !socket.destroyed,
    destroy: () => {
      options.connections.delete(connection);
      socket?.destroy();
      return client.destroy();
    },
  };
  options.connections.add(connection);
  client.on('disconnect', () => onDisconnect(connection));
  return connection;
}

/** Maximum number of interim responses (1xx) before the final response. */
const maxInterim = 16;

type Call = { url: URL; method: 'POST' | 'GET' | 'HEAD' | 'PUT'; headers: Record<string, string>; body: Buffer | null };

/**
 * Sends one request and reads its response up to the size limit. Resolves only once. Data that arrives on the
 * connection afterwards is ignored.
 */
export function exchange(
  connection: Connection,
  call: Call,
  maxBytes: number,
  clock: Clock,
): Promise<FetchResponse | Failure> {
  return new Promise((resolve) => {
    const bodyParts: Buffer[] = [];
    let room = maxBytes;
    let interim = 0;
    let head: { status: number; headers: Record<string, string> } = { status: 0, headers: {} };
    const answer = (truncated: boolean): void =>
      resolve({ kind: 'response', ...head, body: Buffer.concat(bodyParts), truncated });
    const { url, method, headers, body } = call;
    const request = { path: url.pathname + url.search, method, headers, body, headersTimeout: 0, bodyTimeout: 0 };
    connection.expectResponse();
    connection.client.dispatch(request, {
      onRequestStart: () => {},
      // This is also called for interim responses (1xx). The final response overwrites their values.
      onResponseStart: (controller, status, received) => {
        clock.timing.firstByteMs ??= clock.elapsedMs();
        if (status < 200 && ++interim > maxInterim) {
          resolve(fail('protocol', 'too many interim responses'));
          return stopReading(controller);
        }
        head = { status, headers: boundedHeaders(received) };
      },
      onResponseData: (controller, chunk) => {
        if (chunk.length > room) {
          bodyParts.push(Buffer.from(chunk.subarray(0, room)));
          answer(true);
          return stopReading(controller);
        }
        bodyParts.push(Buffer.from(chunk));
        room -= chunk.length;
      },
      onResponseEnd: () => answer(false),
      onResponseError: (_controller, error) => resolve(failureOf(error, connection.phase)),
    });
  });
}

/** Aborts parsing immediately, because a single chunk may contain thousands of interim responses. */
const stopReading = (controller: Dispatcher.DispatchController): void => controller.abort(new Error('enough was read'));

/**
 * Joins repeated headers and drops headers that exceed the size limit. The limit is checked here because joining can
 * make the head longer than it was when received.
 */
function boundedHeaders(received: Record<string, string | string[] | undefined>): Record<string, string> {
  let room = maxHeadBytes;
  const entries = Object.entries(received).map(
    ([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value] as const,
  );
  return Object.fromEntries(
    entries.filter(([name, value]) => {
      room -= name.length + value.length;
      return room >= 0;
    }),
  );
}

const maxMessageLength = 300;

const localCodes = new Set([
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
]);
const resetCodes = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);
const protocolCodes = new Set(['HTTPParserError', 'UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']);
const tlsCode = /^(ERR_SSL_|ERR_TLS_|EPROTO$)/;

/** Converts a connection error to a failure, depending on the connection phase. */
export function failureOf(error: Error, phase: Phase): Failure {
  // undici's parser errors have a name, but their `code` is undefined.
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  // If a connection to several addresses failed, the error is an `AggregateError` without a message.
  const message = (error.message || code).slice(0, maxMessageLength);
  return fail(errorClassOf(code, message, phase), message);
}

function errorClassOf(code: string, message: string, phase: Phase): ErrorClass {
  if (localCodes.has(code) || code === proxyErrorCode) return 'local';
  if (code === 'UND_ERR_INVALID_ARG') return 'other';
  if (phase !== 'open') return phase === 'tls' ? 'tls' : 'connect';
  if (tlsCode.test(code)) return 'tls';
  if (protocolCodes.has(code)) return 'protocol';
  // undici uses the same code whether the receiver closed the connection or undici closed it itself after an unexpected
  // 100 or 101.
  if (code === 'UND_ERR_SOCKET') return message.startsWith('bad ') ? 'protocol' : 'reset';
  return resetCodes.has(code) ? 'reset' : 'other';
}
