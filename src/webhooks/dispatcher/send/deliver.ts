import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import type { HttpProxy } from '../../../config.ts';
import {
  type BlockReason,
  checkUrl,
  hostOf,
  type Lookup,
  type Net,
  type ResolvedAddress,
  resolveTarget,
} from './address-guard.ts';
import { type Connection, createLane, type Lane, maxHeadBytes, type Phase } from './connections.ts';
import { proxyErrorCode } from './proxy.ts';
import { createLookup, createResolverWatch } from './resolver.ts';

/**
 * Why no answer came. `timeout`: the deadline passed, wherever the call stood. `dns`, `connect`, `tls`: no connection.
 * `reset`: the
 * connection broke. `protocol`: not HTTP/1.1, or a head over 16 KiB. `local`: our doing (cancelled, closed, out of
 * sockets or memory, no resolver, no proxy).
 */
export type ErrorClass = 'timeout' | 'dns' | 'connect' | 'tls' | 'reset' | 'protocol' | 'other' | 'local';

/**
 * Milliseconds. `dnsMs` is next to nothing where the host is an address; `connectMs` (TCP) and `tlsMs` are null on a
 * connection used before, or none;
 * `firstByteMs` runs from the start of the call to the response's head, and is null where none came.
 */
export type Timing = {
  dnsMs: number;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  totalMs: number;
};

/** `headers` have lower-case names, repeats joined by a comma, 16 KiB in all; `body` is as received, never unpacked. */
type Answer = { kind: 'response'; status: number; headers: Record<string, string>; body: Buffer; truncated: boolean };
type Failure = { kind: 'error'; class: ErrorClass; message: string };

export type SendResult =
  | (Answer & { remoteAddress: string; timing: Timing })
  | { kind: 'blocked'; reason: BlockReason }
  /** `remoteAddress`: where a connection was made. */
  | (Failure & { remoteAddress?: string; timing: Timing });

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
  /** Host names to addresses (default: DNS). */
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
  /** What all calls go through (default: nothing). */
  proxy?: HttpProxy | null;
  /** Milliseconds from any origin, never going back. */
  now: () => number;
};

export type Sender = {
  /** Makes one call. Never rejects, never follows a redirect, never attempts twice. */
  send: (request: SendRequest) => Promise<SendResult>;
  /** Ends calls in flight as `local` and closes every connection. */
  close: () => Promise<void>;
};

/** Targets whose idle connections are kept. */
const maxLanes = 256;
const maxMessageLength = 300;
/** Interim answers (1xx) before the final one (count). */
const maxInterim = 16;
/** Headers that belong to the transport. `accept-encoding` is left out so that bodies come as they are. */
const ownHeaders = new Set(
  'accept-encoding connection content-length expect host keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

const fail = (errorClass: ErrorClass, message: string): Failure => ({ kind: 'error', class: errorClass, message });

/**
 * Calls webhook URLs. Every call looks its host up once and vets all addresses; its connection can only be made to
 * those. Connections are
 * kept per origin **and** vetted addresses, so a name that resolves elsewhere never meets a connection made for other
 * addresses.
 */
export function createSender(options: SenderOptions): Sender {
  const { allowNets, now, connectTimeoutMs = 5000, maxResponseBytes = 16_384 } = options;
  const lookup = options.lookup ?? createLookup();
  const resolver = createResolverWatch(now);
  const lanes = new LRUCache<string, Lane>({ max: maxLanes, dispose: (lane) => lane.retire() });
  const connections = new Set<Connection>();
  const inFlight = new Set<() => void>();
  let closed = false;

  const laneTo = (url: URL, addresses: ResolvedAddress[]): Lane => {
    const pins = addresses.map(({ address }) => address).sort();
    const key = [url.origin, ...pins].join(' ');
    const known = lanes.get(key);
    if (known !== undefined) return known;
    const lane = createLane({
      url,
      addresses,
      connectTimeoutMs,
      ca: options.ca,
      proxy: options.proxy ?? null,
      now,
      connections,
    });
    lanes.set(key, lane);
    return lane;
  };

  const call = async (url: URL, request: SendRequest, cut: Promise<Failure>, clock: Clock): Promise<Outcome> => {
    const target = await Promise.race([cut, resolveTarget(url, { lookup, allowNets })]);
    clock.timing.dnsMs = clock.elapsedMs();
    if ('kind' in target)
      return target.class === 'timeout' && resolver.isAway() ? fail('local', 'the resolver does not answer') : target;
    const unanswered = !target.ok && target.reason === 'dns_error' && target.unanswered;
    if (!unanswered && isIP(hostOf(url)) === 0) resolver.answered();
    if (!target.ok && target.reason === 'blocked_address') return { kind: 'blocked', reason: target.reason };
    if (!target.ok) return fail(unanswered && resolver.isAway() ? 'local' : 'dns', target.message);
    const lane = laneTo(url, target.addresses);
    const connection = lane.take();
    const headers = { 'user-agent': options.userAgent, ...withoutOwn(request.headers) };
    const answer = await Promise.race([
      cut,
      exchange(connection, { ...request, url, headers }, maxResponseBytes, clock),
    ]);
    clock.timing.connectMs = connection.connectMs;
    clock.timing.tlsMs = connection.tlsMs;
    // A connection with an answer that was not read to its end is dropped, and the rest of it with it.
    lane.give(connection, answer.kind === 'response' && !answer.truncated);
    const { remoteAddress } = connection;
    return answer.kind === 'response' || remoteAddress !== '' ? { ...answer, remoteAddress } : answer;
  };

  return {
    send: async (request) => {
      const checked = checkUrl(request.url, options);
      if (!checked.ok) return { kind: 'blocked', reason: checked.reason };
      const clock = startClock(now);
      if (closed) return { ...fail('local', 'the sender is closed'), timing: clock.timing };
      const cut = startCut(request, inFlight);
      const outcome = await call(checked.url, request, cut.happened, clock).finally(cut.end);
      return outcome.kind === 'blocked'
        ? outcome
        : { ...outcome, timing: { ...clock.timing, totalMs: clock.elapsedMs() } };
    },
    close: async () => {
      closed = true;
      for (const cancel of inFlight) cancel();
      lanes.clear();
      await Promise.all([...connections].map((connection) => connection.destroy()));
    },
  };
}

type Outcome =
  | (Answer & { remoteAddress: string })
  | (Failure & { remoteAddress?: string })
  | { kind: 'blocked'; reason: BlockReason };

type Clock = { timing: Timing; elapsedMs: () => number };

function startClock(now: () => number): Clock {
  const startMs = now();
  return {
    timing: { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 },
    elapsedMs: () => now() - startMs,
  };
}

/** What can end a call early: its deadline, its signal, or the sender's close, which calls what is in `inFlight`. */
function startCut(
  { deadlineMs, signal }: SendRequest,
  inFlight: Set<() => void>,
): { happened: Promise<Failure>; end: () => void } {
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

/**
 * One request and its response, as far as it is kept. Resolves once; what the connection says afterwards is ignored.
 */
function exchange(connection: Connection, call: Call, maxBytes: number, clock: Clock): Promise<Answer | Failure> {
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let room = maxBytes;
    let interim = 0;
    let head: Pick<Answer, 'status' | 'headers'> = { status: 0, headers: {} };
    const answer = (truncated: boolean): void =>
      resolve({ kind: 'response', ...head, body: Buffer.concat(kept), truncated });
    const { url, method, headers, body } = call;
    const request = { path: url.pathname + url.search, method, headers, body, headersTimeout: 0, bodyTimeout: 0 };
    connection.client.dispatch(request, {
      onRequestStart: () => {},
      // Also called for interim answers (1xx), which the final one replaces.
      onResponseStart: (controller, status, received) => {
        clock.timing.firstByteMs ??= clock.elapsedMs();
        if (status < 200 && ++interim > maxInterim) {
          resolve(fail('protocol', 'too many interim answers'));
          return stopReading(controller);
        }
        head = { status, headers: boundedHeaders(received) };
      },
      onResponseData: (controller, chunk) => {
        if (chunk.length > room) {
          kept.push(Buffer.from(chunk.subarray(0, room)));
          answer(true);
          return stopReading(controller);
        }
        kept.push(Buffer.from(chunk));
        room -= chunk.length;
      },
      onResponseEnd: () => answer(false),
      onResponseError: (_controller, error) => resolve(describe(error, connection.phase)),
    });
  });
}

/** Leaves what else has come unparsed: a chunk may hold thousands of interim answers. */
const stopReading = (controller: Dispatcher.DispatchController): void => controller.abort(new Error('enough was read'));

/** Repeats are joined, which can make the head longer than it came; what passes the limit is left out. */
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

function describe(error: Error, phase: Phase): Failure {
  // undici's parser errors have a name only: their code is undefined.
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  // Where every address of a host was tried, the error is an AggregateError without a message.
  const message = (error.message || code).slice(0, maxMessageLength);
  return fail(errorClassOf(code, message, phase), message);
}

function errorClassOf(code: string, message: string, phase: Phase): ErrorClass {
  if (localCodes.has(code) || code === proxyErrorCode) return 'local';
  if (code === 'UND_ERR_INVALID_ARG') return 'other';
  if (phase !== 'open') return phase === 'tls' ? 'tls' : 'connect';
  if (tlsCode.test(code)) return 'tls';
  if (protocolCodes.has(code)) return 'protocol';
  // undici has one code for a connection that closed and for one it closed itself, over a stray 100 or 101.
  if (code === 'UND_ERR_SOCKET') return message.startsWith('bad ') ? 'protocol' : 'reset';
  return resetCodes.has(code) ? 'reset' : 'other';
}
