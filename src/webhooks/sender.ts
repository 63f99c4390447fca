import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Net } from '../config/nets.ts';
import type { HttpProxy } from '../config.ts';
import { type BlockReason, checkUrl, hostOf, resolveTarget } from './address-guard.ts';
import { type Connection, type ConnectionPool, createConnectionPool, exchange } from './dispatcher/send/connections.ts';
import { createLookup, createResolverWatch, type Lookup, type ResolvedAddress } from './dispatcher/send/resolver.ts';
import {
  type Clock,
  type Failure,
  type FetchResponse,
  fail,
  maxKeptBytes,
  type SendRequest,
  type SendResult,
} from './dispatcher/send/result.ts';

export type SenderOptions = {
  /** Resolves host names to addresses. Defaults to DNS. */
  lookup?: Lookup;
  /** Networks to which calls are allowed although they are not public. */
  allowNets: readonly Net[];
  /** Whether `http:` URLs may be called. */
  allowHttp: boolean;
  userAgent: string;
  /** Timeout for establishing the TCP and TLS connection, in milliseconds. Defaults to 5,000. */
  connectTimeoutMs?: number;
  /** Maximum size up to which a response body is stored, in bytes. Defaults to 16,384. */
  maxResponseBytes?: number;
  /** Certificate authorities in PEM format, which replace the built-in ones. */
  ca?: string;
  /** Proxy for all calls. By default, no proxy is used. */
  proxy?: HttpProxy | null;
  /** Monotonic clock, in milliseconds. Defaults to `performance.now`. */
  now?: () => number;
};

export type Sender = {
  /** Makes one call. Never rejects, follows redirects or retries. */
  send: (request: SendRequest) => Promise<SendResult>;
  /** Ends calls in flight with the error class `local` and closes all connections. */
  close: () => Promise<void>;
};

const monotonicMs = (): number => performance.now();

/** Maximum number of connection pools with idle connections. */
const maxPools = 256;
/**
 * Headers that the transport controls. They are removed from requests. Without `accept-encoding`, response bodies
 * arrive uncompressed.
 */
const transportHeaders = new Set(
  `accept-encoding connection content-length expect host keep-alive proxy-connection te trailer transfer-encoding
   upgrade`.split(/\s+/),
);

/**
 * Creates a sender for webhook URLs. Each call resolves its host name once and vets all addresses, and its connection
 * can use only these addresses. Connections are pooled by origin **and** vetted addresses. If a name later resolves to
 * other addresses, connections to the old ones are never reused for it.
 */
export function createSender(options: SenderOptions): Sender {
  const { allowNets, now = monotonicMs, maxResponseBytes = maxKeptBytes } = options;
  const lookup = options.lookup ?? createLookup();
  const resolver = createResolverWatch(now);
  const pools = createPools(options, now);
  const inFlight = new Set<() => void>();
  let closed = false;

  /**
   * Resolves the host of a URL and vets its addresses.
   * @returns the vetted addresses, or the reason why there are none
   */
  const resolve = async (url: URL, deadline: Promise<Failure>, clock: Clock): Promise<Resolved | Outcome> => {
    const target = await Promise.race([deadline, resolveTarget(url, { lookup, allowNets })]);
    clock.timing.dnsMs = clock.elapsedMs();
    if ('kind' in target)
      return target.class === 'timeout' && resolver.isDown() ? fail('local', 'the resolver does not answer') : target;
    const unanswered = !target.ok && target.reason === 'dns_error' && target.unanswered;
    if (!unanswered && isIP(hostOf(url)) === 0) resolver.answered();
    if (target.ok) return { addresses: target.addresses };
    if (target.reason === 'blocked_address') return { kind: 'blocked', reason: target.reason };
    return fail(unanswered && resolver.isDown() ? 'local' : 'dns', target.message);
  };

  const call = async (url: URL, request: SendRequest, deadline: Promise<Failure>, clock: Clock): Promise<Outcome> => {
    const target = await resolve(url, deadline, clock);
    if ('kind' in target) return target;
    const pool = pools.poolFor(url, target.addresses);
    const connection = pool.take();
    const headers = { 'user-agent': options.userAgent, ...withoutTransportHeaders(request.headers) };
    const { method, body } = request;
    const response = exchange(connection, { url, method, headers, body }, maxResponseBytes, clock);
    const answer = await Promise.race([deadline, response]);
    clock.timing.connectMs = connection.connectMs;
    clock.timing.tlsMs = connection.tlsMs;
    // A connection whose response was not read to the end must be closed.
    pool.release(connection, answer.kind === 'response' && !answer.truncated);
    const { remoteAddress } = connection;
    return answer.kind === 'response' || remoteAddress !== '' ? { remoteAddress, ...answer } : answer;
  };

  return {
    send: async (request) => {
      const checked = checkUrl(request.url, options);
      if (!checked.ok) return { kind: 'blocked', reason: checked.reason };
      const clock = startClock(now);
      if (closed) return { ...fail('local', 'the sender is closed'), timing: clock.timing };
      const deadline = startDeadline(request, inFlight);
      const outcome = await call(checked.url, request, deadline.reached, clock).finally(deadline.clear);
      return outcome.kind === 'blocked'
        ? outcome
        : { timing: { ...clock.timing, totalMs: clock.elapsedMs() }, ...outcome };
    },
    close: async () => {
      closed = true;
      for (const cancel of inFlight) cancel();
      await pools.close();
    },
  };
}

type Resolved = { addresses: ResolvedAddress[] };

type Outcome =
  | (FetchResponse & { remoteAddress: string })
  | (Failure & { remoteAddress?: string })
  | { kind: 'blocked'; reason: BlockReason };

/** Creates a sender's connection pools, one for each origin and list of addresses. */
function createPools({ connectTimeoutMs = 5000, ca, proxy = null }: SenderOptions, now: () => number) {
  const connections = new Set<Connection>();
  const pools = new LRUCache<string, ConnectionPool>({ max: maxPools, dispose: (pool) => pool.retire() });
  return {
    poolFor: (url: URL, addresses: ResolvedAddress[]): ConnectionPool => {
      const key = [url.origin, ...addresses.map(({ address }) => address).sort()].join(' ');
      const existing = pools.get(key);
      if (existing !== undefined) return existing;
      const pool = createConnectionPool({ url, addresses, connectTimeoutMs, ca, proxy, now, connections });
      pools.set(key, pool);
      return pool;
    },
    close: async (): Promise<void> => {
      pools.clear();
      await Promise.all([...connections].map((connection) => connection.destroy()));
    },
  };
}

function withoutTransportHeaders(headers: Record<string, string>): Record<string, string> {
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(lowerCase.filter(([name]) => !transportHeaders.has(name)));
}

function startClock(now: () => number): Clock {
  const startMs = now();
  return {
    timing: { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 },
    elapsedMs: () => now() - startMs,
  };
}

/** Deadline of a call. `reached` resolves when the call must end, and `clear` stops the timer. */
type Deadline = { reached: Promise<Failure>; clear: () => void };

/**
 * Starts the deadline of a call. The call ends early if the deadline passes, if its signal fires, or if the sender is
 * closed and calls the function in `inFlight`.
 */
function startDeadline({ deadlineMs, signal }: SendRequest, inFlight: Set<() => void>): Deadline {
  let settle: (failure: Failure) => void = () => {};
  const reached = new Promise<Failure>((resolve) => {
    settle = resolve;
  });
  const cancel = (): void => settle(fail('local', 'the call was cancelled'));
  const timer = setTimeout(() => settle(fail('timeout', `no complete response within ${deadlineMs} ms`)), deadlineMs);
  signal?.addEventListener('abort', cancel, { once: true });
  inFlight.add(cancel);
  if (signal?.aborted) cancel();
  const clear = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
    inFlight.delete(cancel);
  };
  return { reached, clear };
}
