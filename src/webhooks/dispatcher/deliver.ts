import { lookup as systemLookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { type buildConnector, Client } from 'undici';
import { type BlockReason, checkUrl, type Lookup, type Net, type ResolvedAddress, resolveTarget } from './address-guard.ts';

/**
 * Why no answer came. `timeout`: the deadline passed, wherever the call stood. `dns`, `connect`, `tls`: no connection. `reset`: the
 * connection broke. `protocol`: not HTTP/1.1, or a head over 16 KiB. `local`: our doing (cancelled, closed, out of sockets or memory).
 */
export type ErrorClass = 'timeout' | 'dns' | 'connect' | 'tls' | 'reset' | 'protocol' | 'other' | 'local';

/**
 * Milliseconds. `dnsMs` is next to nothing where the host is an address; `connectMs` (TCP and TLS) is null on a connection used before, or none;
 * `firstByteMs` runs from the start of the call to the response's head, and is null where none came.
 */
export type Timing = { dnsMs: number; connectMs: number | null; firstByteMs: number | null; totalMs: number };

/** `headers` have lower-case names, repeats joined by a comma, 16 KiB in all; `body` is as received, never unpacked. */
type Answer = { kind: 'response'; status: number; headers: Record<string, string>; body: Buffer; truncated: boolean };
type Failure = { kind: 'error'; class: ErrorClass; message: string };

export type SendResult =
  | (Answer & { remoteAddress: string; timing: Timing })
  | { kind: 'blocked'; reason: BlockReason }
  | (Failure & { timing: Timing });

export type SendRequest = {
  url: string;
  method: 'POST' | 'GET';
  headers: Record<string, string>;
  body: Buffer | null;
  /** One limit over lookup, connect, TLS, head and body together. */
  deadlineMs: number;
  /** Ends the call early, as `local`. */
  signal?: AbortSignal;
};

export type SenderOptions = {
  /** Host names to addresses (default: the system's resolver). */
  lookup?: Lookup;
  /** Nets that may be called although they are not public. */
  allowNets: readonly Net[];
  /** Whether `http:` may be called. */
  allowHttp: boolean;
  userAgent: string;
  /** Limit of TCP and TLS set-up (default 5,000). */
  connectTimeoutMs?: number;
  /** Bytes of a response body that are kept (default 16,384). */
  maxResponseBytes?: number;
  /** Certificate authorities in PEM that are trusted instead of the built-in ones. */
  ca?: string;
  /** Milliseconds from any origin, never going back. */
  now: () => number;
};

export type Sender = {
  /** Makes one call. Never rejects, never follows a redirect, never tries twice. */
  send: (request: SendRequest) => Promise<SendResult>;
  /** Ends calls in flight as `local` and closes every connection. */
  close: () => Promise<void>;
};

const maxHeadBytes = 16_384;
/** Targets whose idle connections are kept. */
const maxLanes = 256;
/** An idle connection is closed after 4 s, or what the receiver announces, up to this. */
const maxIdleMs = 30_000;
const maxMessageLength = 300;
/** Headers that belong to the transport. `accept-encoding` is left out so that bodies come as they are. */
const ownHeaders = new Set(
  'accept-encoding connection content-length expect host keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);

const fail = (errorClass: ErrorClass, message: string): Failure => ({ kind: 'error', class: errorClass, message });

/**
 * Calls webhook URLs. Every call looks its host up once and vets all addresses; its connection can only be made to those. Connections are
 * kept per origin **and** vetted addresses, so a name that resolves elsewhere never meets a connection made for other addresses.
 */
export function createSender(options: SenderOptions): Sender {
  const { allowNets, now, connectTimeoutMs = 5000, maxResponseBytes = 16_384 } = options;
  const lookup = options.lookup ?? ((hostname) => systemLookup(hostname, { all: true }));
  const lanes = new LRUCache<string, Lane>({ max: maxLanes, dispose: (lane) => lane.retire() });
  const connections = new Set<Connection>();
  const inFlight = new Set<() => void>();
  let closed = false;

  const laneTo = (url: URL, addresses: ResolvedAddress[]): Lane => {
    const pins = addresses.map(({ address }) => address).sort();
    const key = [url.origin, ...pins].join(' ');
    const known = lanes.get(key);
    if (known !== undefined) return known;
    const lane = createLane({ url, addresses, connectTimeoutMs, ca: options.ca, now, connections });
    lanes.set(key, lane);
    return lane;
  };

  const call = async (url: URL, request: SendRequest, cut: Promise<Failure>, clock: Clock): Promise<Outcome> => {
    const target = await Promise.race([cut, resolveTarget(url, { lookup, allowNets })]);
    clock.timing.dnsMs = clock.elapsedMs();
    if ('kind' in target) return target;
    if (!target.ok) return target.reason === 'dns_error' ? fail('dns', target.message) : { kind: 'blocked', reason: target.reason };
    const lane = laneTo(url, target.addresses);
    const connection = lane.take();
    const headers = { 'user-agent': options.userAgent, ...withoutOwn(request.headers) };
    const answer = await Promise.race([cut, exchange(connection, { ...request, url, headers }, maxResponseBytes, clock)]);
    clock.timing.connectMs = connection.connectMs;
    // A connection with an answer that was not read to its end is dropped, and the rest of it with it.
    lane.give(connection, answer.kind === 'response' && !answer.truncated);
    return answer.kind === 'response' ? { ...answer, remoteAddress: connection.remoteAddress } : answer;
  };

  return {
    send: async (request) => {
      const checked = checkUrl(request.url, options);
      if (!checked.ok) return { kind: 'blocked', reason: checked.reason };
      const clock = startClock(now);
      if (closed) return { ...fail('local', 'the sender is closed'), timing: clock.timing };
      const cut = startCut(request, inFlight);
      const outcome = await call(checked.url, request, cut.happened, clock).finally(cut.end);
      return outcome.kind === 'blocked' ? outcome : { ...outcome, timing: { ...clock.timing, totalMs: clock.elapsedMs() } };
    },
    close: async () => {
      closed = true;
      for (const cancel of inFlight) cancel();
      lanes.clear();
      await Promise.all([...connections].map((connection) => connection.destroy()));
    },
  };
}

type Outcome = (Answer & { remoteAddress: string }) | Failure | { kind: 'blocked'; reason: BlockReason };

type Clock = { timing: Timing; elapsedMs: () => number };

function startClock(now: () => number): Clock {
  const startMs = now();
  return { timing: { dnsMs: 0, connectMs: null, firstByteMs: null, totalMs: 0 }, elapsedMs: () => now() - startMs };
}

/** What can end a call early: its deadline, its signal, or the sender's close, which calls what is in `inFlight`. */
function startCut({ deadlineMs, signal }: SendRequest, inFlight: Set<() => void>): { happened: Promise<Failure>; end: () => void } {
  let settle: (failure: Failure) => void = () => {};
  const happened = new Promise<Failure>((resolve) => {
    settle = resolve;
  });
  const cancel = (): void => settle(fail('local', 'the call was cancelled'));
  const timer = setTimeout(() => settle(fail('timeout', `no complete response within ${deadlineMs} ms`)), deadlineMs);
  signal?.addEventListener('abort', cancel, { once: true });
  inFlight.add(cancel);
  if (signal?.aborted) cancel();
  const end = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
    inFlight.delete(cancel);
  };
  return { happened, end };
}

function withoutOwn(headers: Record<string, string>): Record<string, string> {
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(lowerCase.filter(([name]) => !ownHeaders.has(name)));
}

type Call = { url: URL; method: 'POST' | 'GET'; headers: Record<string, string>; body: Buffer | null };

/** One request and its response, as far as it is kept. Resolves once; what the connection says afterwards is ignored. */
function exchange(connection: Connection, call: Call, maxBytes: number, clock: Clock): Promise<Answer | Failure> {
  return new Promise((resolve) => {
    const kept = Buffer.allocUnsafe(maxBytes);
    let length = 0;
    let head: Pick<Answer, 'status' | 'headers'> = { status: 0, headers: {} };
    const answer = (truncated: boolean): void =>
      resolve({ kind: 'response', ...head, body: Buffer.from(kept.subarray(0, length)), truncated });
    const { url, method, headers, body } = call;
    const request = { path: url.pathname + url.search, method, headers, body, headersTimeout: 0, bodyTimeout: 0 };
    connection.client.dispatch(request, {
      onRequestStart: () => {},
      // Also called for interim answers (1xx), which the final one replaces.
      onResponseStart: (_controller, status, received) => {
        clock.timing.firstByteMs = clock.elapsedMs();
        head = { status, headers: boundedHeaders(received) };
      },
      onResponseData: (_controller, chunk) => {
        const copied = chunk.copy(kept, length);
        length += copied;
        if (copied < chunk.length) answer(true);
      },
      onResponseEnd: () => answer(false),
      onResponseError: (_controller, error) => resolve(describe(error, connection.phase)),
    });
  });
}

/** Repeats are joined, which can make the head longer than it came; what passes the limit is left out. */
function boundedHeaders(received: Record<string, string | string[] | undefined>): Record<string, string> {
  let room = maxHeadBytes;
  const entries = Object.entries(received).map(([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value] as const);
  return Object.fromEntries(
    entries.filter(([name, value]) => {
      room -= name.length + value.length;
      return room >= 0;
    }),
  );
}

type Phase = 'tcp' | 'tls' | 'open';

const localCodes = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);
const resetCodes = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);
const protocolCodes = new Set(['HTTPParserError', 'UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']);
const tlsCode = /^(ERR_SSL_|ERR_TLS_|EPROTO$)/;

function describe(error: Error, phase: Phase): Failure {
  // undici's parser errors have a name only: their code is undefined.
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  // Where every address of a host was tried, the error is an AggregateError without a message.
  const message = (error.message || code).slice(0, maxMessageLength);
  return fail(errorClassOf(code, message, phase), message);
}

function errorClassOf(code: string, message: string, phase: Phase): ErrorClass {
  if (localCodes.has(code)) return 'local';
  if (code === 'UND_ERR_INVALID_ARG') return 'other';
  if (phase !== 'open') return phase === 'tls' ? 'tls' : 'connect';
  if (tlsCode.test(code)) return 'tls';
  if (protocolCodes.has(code)) return 'protocol';
  // undici has one code for a connection that closed and for one it closed itself, over a stray 100 or 101.
  if (code === 'UND_ERR_SOCKET') return message.startsWith('bad ') ? 'protocol' : 'reset';
  return resetCodes.has(code) ? 'reset' : 'other';
}

type LaneOptions = {
  url: URL;
  addresses: readonly ResolvedAddress[];
  connectTimeoutMs: number;
  ca: string | undefined;
  now: () => number;
  /** Every connection of the sender. */
  connections: Set<Connection>;
};

/** The connections to one origin at one list of vetted addresses. Each carries one call at a time; as many as there are calls at once. */
type Lane = {
  take: () => Connection;
  give: (connection: Connection, reusable: boolean) => void;
  retire: () => void;
};

function createLane(options: LaneOptions): Lane {
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
      return connection;
    },
    give: (connection, reusable) => {
      if (reusable && !retired && connection.isOpen()) idle.push(connection);
      else void connection.destroy();
    },
    retire: () => {
      retired = true;
      for (const connection of idle.splice(0)) void connection.destroy();
    },
  };
}

type Connection = {
  client: Client;
  phase: Phase;
  /** Time the call that has this connection spent on connecting, milliseconds; null where it was open already. */
  connectMs: number | null;
  remoteAddress: string;
  isOpen: () => boolean;
  /** Ends it at once, also while it is being made. Resolves when it is closed; may be called again. */
  destroy: () => Promise<void>;
};

/** A client of one socket, which it may have to make anew when the receiver has closed it: then again only to the vetted addresses. */
function openConnection(options: LaneOptions, onDisconnect: (connection: Connection) => void): Connection {
  let socket: Socket | null = null;
  const connect: buildConnector.connector = (_options, callback) => {
    const startMs = options.now();
    connection.phase = 'tcp';
    socket = dial(options, {
      onTcp: () => {
        connection.phase = 'tls';
      },
      onReady: (ready) => {
        connection.phase = 'open';
        connection.connectMs = options.now() - startMs;
        connection.remoteAddress = ready.remoteAddress ?? '';
        callback(null, ready);
      },
      onError: (error) => callback(error, null),
    });
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
    remoteAddress: '',
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

type DialEvents = { onTcp: () => void; onReady: (socket: Socket) => void; onError: (error: Error) => void };

/** Connects to the vetted addresses, one after the other, and to nothing else: the socket's own lookup answers with them. */
function dial({ url, addresses, connectTimeoutMs, ca }: LaneOptions, { onTcp, onReady, onError }: DialEvents): Socket {
  const isSecure = url.protocol === 'https:';
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const target = {
    host,
    port: Number(url.port || (isSecure ? 443 : 80)),
    lookup: pinned(addresses),
    autoSelectFamily: true,
    noDelay: true,
  };
  const servername = isIP(host) === 0 ? host.replace(/\.$/, '') : undefined;
  const trust = ca === undefined ? {} : { ca };
  const socket: Socket = isSecure
    ? connectTls({ ...target, ...trust, ...(servername && { servername }), ALPNProtocols: ['http/1.1'], rejectUnauthorized: true })
    : connectTcp(target);
  const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${connectTimeoutMs} ms`)), connectTimeoutMs);
  let done = false;
  socket.once('connect', onTcp);
  socket.once(isSecure ? 'secureConnect' : 'connect', () => {
    done = true;
    clearTimeout(timer);
    onReady(socket);
  });
  socket.on('error', (error) => {
    if (!done) onError(error);
    done = true;
  });
  socket.once('close', () => clearTimeout(timer));
  return socket;
}

/** A lookup that knows these addresses only. It is not asked where the host is an address, which was vetted as it stands. */
const pinned =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_hostname, { all }, callback) => {
    const [first] = addresses;
    if (first === undefined) callback(new Error('no address to connect to'), '');
    else if (all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
