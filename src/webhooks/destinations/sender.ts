import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { minuteMs } from '../../platform/lib/time.ts';
import { checkUrl, resolveTarget } from '../address-guard.ts';
import { createLookup, type ResolvedAddress } from '../dispatcher/send/resolver.ts';
import {
  type Failure,
  fail,
  localFailure,
  type SendRequest,
  type SendResult,
  type Timing,
} from '../dispatcher/send/result.ts';
import type { Sender, SenderOptions } from '../sender.ts';
import { awsRequest, eventBridgeStatus } from './aws.ts';
import { type BrokerAnswer, type BrokerClient, type BrokerServer, promiseOf } from './broker.ts';
import { kindOf, networkUrl } from './kinds.ts';
import { answerOfNatsError, connectToNats } from './nats.ts';

/** Maximum number of open connections to brokers, and the time after which an unused connection is closed. */
const maxClients = 256;
const idleMs = minuteMs;

type DestinationRequest = SendRequest & { destination: NonNullable<SendRequest['destination']> };

/**
 * Extends a sender with non-HTTP destinations. AWS services are called through the original sender. For brokers, the
 * server's addresses are vetted before each message, and a connection is reused only as long as its addresses and
 * settings stay the same.
 */
export function withDestinations(http: Sender, options: SenderOptions): Sender {
  const { allowNets, ca, lookup = createLookup(), now = () => performance.now() } = options;
  const clients = createClients();
  const stop = new AbortController();

  async function publish(
    request: DestinationRequest,
    timing: Timing,
    startMs: number,
  ): Promise<BrokerAnswer | Blocked> {
    const url = new URL(request.url);
    const server = networkUrl(url);
    const target = await resolveTarget(server, { lookup, allowNets });
    timing.dnsMs = now() - startMs;
    if (!target.ok)
      return target.reason === 'dns_error' ? fail('dns', target.message) : { kind: 'blocked', reason: target.reason };
    const { destination, headers, body, deadlineMs: timeoutMs } = request;
    const { addresses } = target;
    const isTls = server.protocol === 'https:';
    const client = await clients.open({ url, addresses, isTls, secrets: destination.secrets, ca, timeoutMs });
    timing.connectMs = client.connectMs;
    return client.publish({ ...destination, url, headers, body: body ?? Buffer.alloc(0), timeoutMs });
  }

  async function sendToBroker(request: DestinationRequest): Promise<SendResult> {
    const startMs = now();
    const timing: Timing = { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 };
    const { reached, clear } = startDeadline(request, stop.signal);
    const answered = publish(request, timing, startMs).catch(answerOfNatsError);
    const answer = await Promise.race([reached, answered]).finally(clear);
    // Close the connection: if the server does not respond, the next message would also wait.
    if (answer.kind === 'error' && answer.class !== 'local') clients.drop(request);
    if (answer.kind === 'blocked') return answer;
    timing.totalMs = now() - startMs;
    return { remoteAddress: new URL(request.url).hostname, ...answer, timing };
  }

  async function sendToAws(request: DestinationRequest): Promise<SendResult> {
    const { destination, headers, body, deadlineMs, signal } = request;
    const url = new URL(request.url);
    const event = headers['perkwire-event'] ?? '';
    const secretAccessKey = destination.secrets.secret_access_key ?? '';
    const message = { ...destination, url, event, headers, body: body ?? Buffer.alloc(0), secretAccessKey };
    const call = await awsRequest(message);
    const result = await http.send({ ...call, deadlineMs, ...(signal !== undefined && { signal }) });
    const isBus = url.protocol === 'eventbridge:' && result.kind === 'response' && result.status === 200;
    return isBus ? { ...result, status: eventBridgeStatus(result.body) } : result;
  }

  async function send(request: SendRequest): Promise<SendResult> {
    const { destination } = request;
    const kind = kindOf(request.url);
    if (kind === 'http' || destination === undefined) return http.send(request);
    const checked = checkUrl(networkUrl(new URL(request.url)).href, options);
    if (!checked.ok) return { kind: 'blocked', reason: checked.reason };
    return kind === 'nats' ? sendToBroker({ ...request, destination }) : sendToAws({ ...request, destination });
  }

  return {
    send: (request) => send(request).catch(localFailure),
    close: async () => {
      stop.abort();
      await clients.close();
      await http.close();
    },
  };
}

type Blocked = Extract<SendResult, { kind: 'blocked' }>;

type OpenClient = BrokerClient & { connectMs: number | null };

/** Creates the connections to brokers, at most one for each destination. */
function createClients() {
  const opening = new LRUCache<string, Promise<BrokerClient>>({
    max: maxClients,
    ttl: idleMs,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    dispose: (client) => void client.then(({ close }) => close()).catch(() => {}),
  });
  const keyOf = (url: string, secrets: Readonly<Record<string, string>>, addresses: readonly ResolvedAddress[]) => {
    const parts = [secrets, addresses.map(({ address }) => address).sort()];
    return `${url} ${hash('sha256', JSON.stringify(parts))}`;
  };
  return {
    open: async (server: BrokerServer): Promise<OpenClient> => {
      const key = keyOf(server.url.href, server.secrets, server.addresses);
      const underWay = opening.get(key);
      if (underWay !== undefined) {
        const existing = await underWay;
        if (existing.isOpen()) return { ...existing, connectMs: null };
      }
      const startMs = performance.now();
      const connecting = connectToNats(server);
      opening.set(key, connecting);
      const forget = (): void => {
        if (opening.peek(key) === connecting) opening.delete(key);
      };
      const client = await connecting.catch((err) => {
        forget();
        throw err;
      });
      void client.closed.then(forget);
      return { ...client, connectMs: performance.now() - startMs };
    },
    /** Closes the connections to a destination. */
    drop: ({ url }: SendRequest): void => {
      for (const key of opening.keys()) if (key.startsWith(`${url} `)) opening.delete(key);
    },
    close: async (): Promise<void> => {
      const all = [...opening.values()];
      opening.clear();
      await Promise.allSettled(all.map(async (client) => (await client).close()));
    },
  };
}

/** Starts the deadline of a message. It expires early if the signal of the request or the sender fires. */
function startDeadline({ deadlineMs, signal }: SendRequest, stopped: AbortSignal) {
  const { promise: reached, resolve } = promiseOf<Failure>();
  const cancel = (): void => resolve(fail('local', 'the call was cancelled'));
  const timer = setTimeout(() => resolve(fail('timeout', `no answer within ${deadlineMs} ms`)), deadlineMs);
  const signals = [stopped, ...(signal === undefined ? [] : [signal])];
  for (const source of signals) source.addEventListener('abort', cancel, { once: true });
  if (signals.some(({ aborted }) => aborted)) cancel();
  const clear = (): void => {
    clearTimeout(timer);
    for (const source of signals) source.removeEventListener('abort', cancel);
  };
  return { reached, clear };
}
