import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Phase } from '../../dispatcher/send/connections.ts';
import { failureOf } from '../../dispatcher/send/connections.ts';
import { dial } from '../../dispatcher/send/dial.ts';
import type { ResolvedAddress } from '../../dispatcher/send/resolver.ts';
import { fail } from '../../dispatcher/send/result.ts';
import { AnswerError, answerOfFailure, type BrokerAnswer, promiseOf } from '../broker.ts';
import { requireSuccess } from './errors.ts';
import { bytes, createReader, int16, int32, type Reader, string } from './protocol.ts';
import { type Login, logIn } from './sasl.ts';

/*
 * Connection to one Kafka broker. Tenants choose the broker, so its responses are limited: they have a maximum size,
 * and memory for each is allocated once. Kafka clients from npm buffer responses of any size, and connect to every
 * address that a cluster announces.
 */

/** Requests of the protocol, and the versions that this client supports. All of them have the old header format. */
export const apis = {
  produce: { key: 0, versions: [3] },
  metadata: { key: 3, versions: [4, 1] },
  saslHandshake: { key: 17, versions: [1] },
  apiVersions: { key: 18, versions: [0] },
  initProducerId: { key: 22, versions: [0] },
  saslAuthenticate: { key: 36, versions: [1, 0] },
} as const;
type Api = (typeof apis)[keyof typeof apis];
const knownKeys: ReadonlySet<number> = new Set(Object.values(apis).map(({ key }) => key));

/** Maximum size of a response, in bytes. The metadata of a topic with 5,000 partitions and three replicas fits. */
const maxResponseBytes = 524_288;

type BrokerOptions = {
  /** Base URL with the host and port, and the scheme `https:` for TLS. */
  url: URL;
  addresses: readonly ResolvedAddress[];
  ca: string | undefined;
  connectTimeoutMs: number;
  clientId: string;
  login: Login | null;
};

export type KafkaConnection = {
  isOpen: () => boolean;
  /** Resolves when the connection is closed, for whatever reason. */
  closed: Promise<void>;
  /** Returns the newest version of an API that both sides support, or null. */
  versionOf: (api: Api) => number | null;
  /**
   * Sends a request and returns its response.
   * @throws AnswerError if the connection ends first
   */
  request: (api: Api, version: number, body: Buffer) => Promise<Reader>;
  close: () => void;
};

/** Creates a function that splits the chunks that a broker sends into responses. */
export function createFrames(onFrame: (frame: Buffer) => void, onExcess: () => void): (chunk: Buffer) => void {
  const head = Buffer.alloc(4);
  let frame: Buffer | null = null;
  let filled = 0;
  return (chunk) => {
    for (let position = 0; position < chunk.length; ) {
      const target = frame ?? head;
      const copied = chunk.copy(target, filled, position);
      filled += copied;
      position += copied;
      if (filled < target.length) return;
      filled = 0;
      if (frame !== null) {
        frame = null;
        onFrame(target);
        continue;
      }
      const length = head.readInt32BE();
      if (length < 4 || length > maxResponseBytes) return onExcess();
      frame = Buffer.allocUnsafeSlow(length);
    }
  };
}

type Waiting = { resolve: (response: Reader) => void; reject: (error: Error) => void };

/**
 * Connects to a broker at its vetted addresses, and authenticates.
 * @throws AnswerError with the answer for the delivery log
 */
export async function connectToBroker(options: BrokerOptions): Promise<KafkaConnection> {
  const { url, addresses, ca, connectTimeoutMs, clientId, login } = options;
  const closed = promiseOf<void>();
  const ready = promiseOf<void>();
  const waiting = new Map<number, Waiting>();
  const versions = new Map<number, readonly [min: number, max: number]>();
  let socket: Socket | null = null;
  let phase: Phase = 'tcp';
  let isOpen = true;
  let isExpired = false;
  let lastId = 0;
  let expiry: NodeJS.Timeout | undefined;

  const end = (answer: BrokerAnswer): void => {
    if (!isOpen) return;
    isOpen = false;
    socket?.destroy();
    clearTimeout(timer);
    clearTimeout(expiry);
    const error = new AnswerError(answer);
    ready.reject(error);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    closed.resolve();
  };
  const timer = setTimeout(
    () => end(fail('timeout', `no connection to ${url.host} within ${connectTimeoutMs} ms`)),
    connectTimeoutMs,
  );
  const endIfExpired = (): void => {
    if (isExpired && waiting.size === 0) end(fail('local', 'the authentication has expired'));
  };
  const onFrame = (frame: Buffer): void => {
    const id = frame.readInt32BE();
    const entry = waiting.get(id);
    if (entry === undefined) end(fail('protocol', 'the server sent a response without a request'));
    waiting.delete(id);
    entry?.resolve(createReader(frame.subarray(4)));
    endIfExpired();
  };
  const read = createFrames(onFrame, () =>
    end(fail('protocol', 'the server does not speak the Kafka protocol, or requires TLS')),
  );

  const request = ({ key }: Api, version: number, body: Buffer): Promise<Reader> => {
    const { promise, resolve, reject } = promiseOf<Reader>();
    if (!isOpen || socket === null) return Promise.reject(new AnswerError(fail('reset', 'the connection was closed')));
    lastId = (lastId + 1) & 0x7fffffff;
    waiting.set(lastId, { resolve, reject });
    const head = [int16(key), int16(version), int32(lastId), string(clientId)];
    socket.write(bytes(Buffer.concat([...head, body])));
    return promise;
  };

  const greet = async (): Promise<void> => {
    const response = await request(apis.apiVersions, 0, Buffer.alloc(0));
    requireSuccess(response.int16());
    response.array(() => {
      const [key, min, max] = [response.int16(), response.int16(), response.int16()];
      // A hostile broker can list 65,536 APIs, which would stay in memory as long as the connection.
      if (knownKeys.has(key)) versions.set(key, [min, max]);
    });
    if (login === null) return;
    const handshake = await request(apis.saslHandshake, 1, string(login.mechanism));
    const code = handshake.int16();
    requireSuccess(code, `It offers ${handshake.array(handshake.string).join(', ').slice(0, 200) || 'none'}.`);
    const version = versionOf(apis.saslAuthenticate) ?? 0;
    await logIn(login, randomBytes(18).toString('base64'), async (message) => {
      const answer = await request(apis.saslAuthenticate, version, bytes(message));
      const errorCode = answer.int16();
      // The server's error message is not logged, because it may contain the password.
      answer.string();
      requireSuccess(errorCode);
      const content = answer.bytes();
      if (version > 0) expireAfter(Number(answer.int64()));
      return content;
    });
  };
  /** Closes the connection before the broker ends its authentication. The next message opens another one. */
  const expireAfter = (lifetimeMs: number): void => {
    clearTimeout(expiry);
    if (lifetimeMs <= 0 || !isOpen) return;
    expiry = setTimeout(
      () => {
        isExpired = true;
        endIfExpired();
      },
      Math.min(lifetimeMs * 0.8, 86_400_000),
    ).unref();
  };
  const versionOf = ({ key, versions: own }: Api): number | null => {
    const [min, max] = versions.get(key) ?? [0, -1];
    return own.find((version) => version >= min && version <= max) ?? null;
  };

  const dialOptions = { url, addresses, connectTimeoutMs, ca, proxy: null, now: () => performance.now(), alpn: null };
  socket = dial(dialOptions, {
    onTcp: () => {
      phase = url.protocol === 'https:' ? 'tls' : 'open';
    },
    onReady: (open) => {
      phase = 'open';
      open.on('data', (chunk: Buffer) => isOpen && read(chunk));
      greet().then(ready.resolve, (error) => end(answerOfFailure(error)));
    },
    onError: (error) => end(failureOf(error, phase)),
  });
  socket.on('error', (error) => end(failureOf(error, phase)));
  socket.on('close', () => end(fail(phase === 'tls' ? 'tls' : 'reset', 'the server closed the connection')));
  await ready.promise;
  clearTimeout(timer);
  return {
    isOpen: () => isOpen && !isExpired,
    closed: closed.promise,
    versionOf,
    request,
    close: () => end(fail('local', 'the connection was closed')),
  };
}
