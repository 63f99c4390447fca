import { hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
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
import { answerOfFailure, type BrokerAnswer, type BrokerClient, type BrokerServer, promiseOf } from './broker.ts';
import type { VettedBroker } from './kafka/brokers.ts';
import { connectToKafka } from './kafka/client.ts';
import { kindOf, networkUrl } from './kinds.ts';
import { connectToNats } from './nats.ts';

/** Maximum number of open connections to brokers, and the time after which an unused connection is closed. */
const maxClients = 256;
const idleMs = minuteMs;

type DestinationRequest = SendRequest & { destination: NonNullable<SendRequest['destination']> };

/**
 * Extends a sender with non-HTTP destinations. AWS services are called through the original sender. For brokers, the
 * server's addresses are vetted before each message to NATS and before each connection to Kafka. A connection is reused
 * only as long as its addresses and settings stay the same.
 */
export function withDestinations(http: Sender, options: SenderOptions): Sender {
  const { allowNets, ca, lookup = createLookup(), now = () => performance.now() } = options;
  const clients = createClients();
  const stop = new AbortController();
  // Each message in flight listens to the signal.
  setMaxListeners(0, stop.signal);

  /** Resolves a server of a broker, and vets its addresses. */
  async function vet(server: URL): Promise<VettedBroker> {
    const checked = checkUrl(server.href, options);
    if (!checked.ok) return { refused: { kind: 'blocked', reason: checked.reason } };
    const target = await resolveTarget(server, { lookup, allowNets });
    if (target.ok) return { addresses: target.addresses };
    const { reason } = target;
    return { refused: reason === 'dns_error' ? fail('dns', target.message) : { kind: 'blocked', reason } };
  }

  async function publish(request: DestinationRequest, timing: Timing, startMs: number): Promise<BrokerAnswer> {
    const url = new URL(request.url);
    const { destination, headers, body, deadlineMs: timeoutMs } = request;
    const { secrets } = destination;
    const isTls = networkUrl(url).protocol === 'https:';
    const settings = { url, isTls, secrets, ca, timeoutMs };
    // A cluster has several servers. Its client vets each of them before it connects.
    const isCluster = kindOf(request.url) === 'kafka';
    const vetted = isCluster ? { addresses: [] } : await vet(networkUrl(url));
    timing.dnsMs = now() - startMs;
    if ('refused' in vetted) return vetted.refused;
    const { addresses } = vetted;
    const client = await clients.open({ ...settings, addresses }, (server) =>
      isCluster ? connectToKafka({ ...server, vet }) : connectToNats(server),
    );
    timing.connectMs = client.connectMs;
    return client.publish({ ...destination, url, headers, body: body ?? Buffer.alloc(0), timeoutMs });
  }

  async function sendToBroker(request: DestinationRequest): Promise<SendResult> {
    const startMs = now();
    const timing: Timing = { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 };
    const { reached, clear } = startDeadline(request, stop.signal);
    const answered = publish(request, timing, startMs).catch(answerOfFailure);
    const answer = await Promise.race([reached, answered]).finally(clear);
    // Close the connection: if the server does not respond, the next message would also wait. The client for Kafka
    // closes other lost connections itself, so that messages to other brokers are not lost.
    const isLost = answer.kind === 'error' && answer.class !== 'local';
    if (isLost && (kindOf(request.url) === 'nats' || answer.class === 'timeout')) clients.drop(request);
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
    const isBroker = kind === 'nats' || kind === 'kafka';
    return isBroker ? sendToBroker({ ...request, destination }) : sendToAws({ ...request, destination });
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
    open: async (
      server: BrokerServer,
      connect: (server: BrokerServer) => Promise<BrokerClient>,
    ): Promise<OpenClient> => {
      const key = keyOf(server.url.href, server.secrets, server.addresses);
      const underWay = opening.get(key);
      if (underWay !== undefined) {
        const existing = await underWay;
        if (existing.isOpen()) return { ...existing, connectMs: null };
      }
      const startMs = performance.now();
      const connecting = connect(server);
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
