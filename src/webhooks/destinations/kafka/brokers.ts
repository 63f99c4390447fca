import { parseUrl } from '../../../platform/lib/url.ts';
import type { ResolvedAddress } from '../../dispatcher/send/resolver.ts';
import { fail } from '../../dispatcher/send/result.ts';
import { AnswerError, type BrokerAnswer, type BrokerSettings } from '../broker.ts';
import { networkUrls } from '../kinds.ts';
import { apis, connectToBroker, type KafkaConnection } from './connection.ts';
import { CodeError, requireSuccess } from './errors.ts';
import { int32, string } from './protocol.ts';
import { type Login, mechanisms } from './sasl.ts';

/** Result of the address guard for a broker. */
export type VettedBroker = { addresses: readonly ResolvedAddress[] } | { refused: BrokerAnswer };

export type KafkaSettings = BrokerSettings & { vet: (url: URL) => Promise<VettedBroker> };

/** Leaders of a topic's partitions, as host and port, or null for a partition that has no leader at the moment. */
export type Leaders = ReadonlyMap<number, string | null>;

/** Maximum number of connections to the brokers of a cluster. */
const maxConnections = 50;
/** Maximum time for connecting to one broker, in milliseconds. */
const maxConnectMs = 5000;

/** Creates the connections to the brokers of a cluster. Each one is opened when it is first needed. */
export function createBrokers({ url, isTls, secrets, ca, timeoutMs, vet }: KafkaSettings) {
  const clientId = url.searchParams.get('client_id') ?? 'perkwire';
  const bootstrapUrls = networkUrls(url);
  const connectTimeoutMs = Math.min(maxConnectMs, timeoutMs / bootstrapUrls.length);
  const connections = new Map<string, { opening: Promise<KafkaConnection>; isUsable: () => boolean }>();
  const openConnections = new Set<KafkaConnection>();
  let isOpen = true;

  const connect = async (broker: URL, isAnnounced: boolean): Promise<KafkaConnection> => {
    const vetted = await vet(broker);
    if ('refused' in vetted)
      throw new AnswerError(isAnnounced ? announcedAnswer(broker, vetted.refused) : vetted.refused);
    const { addresses } = vetted;
    const login = loginOf(url, secrets);
    const connection = await connectToBroker({ url: broker, addresses, ca, connectTimeoutMs, clientId, login });
    openConnections.add(connection);
    void connection.closed.then(() => openConnections.delete(connection));
    if (!isOpen) connection.close();
    return connection;
  };

  /** Returns the connection to a broker, or opens one. */
  const connectionTo = (broker: URL, isAnnounced: boolean): Promise<KafkaConnection> => {
    if (!isOpen) return Promise.reject(new AnswerError(fail('local', 'the connection was closed')));
    const existing = connections.get(broker.host);
    if (existing?.isUsable()) return existing.opening;
    const [oldest] = connections;
    if (connections.size >= maxConnections && oldest !== undefined) {
      void oldest[1].opening.then(({ close }) => close()).catch(() => {});
      connections.delete(oldest[0]);
    }
    let connection: KafkaConnection | null = null;
    const opening = connect(broker, isAnnounced);
    const entry = { opening, isUsable: () => connection === null || connection.isOpen() };
    connections.set(broker.host, entry);
    const forget = (): void => {
      if (connections.get(broker.host) === entry) connections.delete(broker.host);
    };
    opening.then((opened) => {
      connection = opened;
      void opened.closed.then(forget);
    }, forget);
    return opening;
  };

  /** Connects to the first bootstrap server that answers. If none does, throws the last failure. */
  const bootstrap = async (): Promise<KafkaConnection> => {
    let failure: unknown = null;
    for (const broker of bootstrapUrls) {
      try {
        return await connectionTo(broker, false);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  };

  return {
    bootstrap,
    /**
     * Returns the connection to the leader of a partition.
     * @param leader host and port that the cluster announces
     */
    leader: async (leader: string): Promise<KafkaConnection> => connectionTo(announcedUrl(leader, isTls), true),
    close: (): void => {
      isOpen = false;
      for (const connection of openConnections) connection.close();
      connections.clear();
    },
  };
}

/**
 * Returns the URL of a broker that a cluster announces.
 * @throws AnswerError if it is not a host and port
 */
function announcedUrl(broker: string, isTls: boolean): URL {
  const isAddress = /^([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}$/.test(broker);
  const url = isAddress ? parseUrl(`${isTls ? 'https' : 'http'}://${broker}/`) : null;
  if (url === null) throw new AnswerError(announcedAnswer({ host: broker }, null));
  return url;
}

/** Explains that a cluster announces an address that cannot be used. This is a frequent mistake in its settings. */
function announcedAnswer({ host }: { host: string }, refused: BrokerAnswer | null): BrokerAnswer {
  const reason =
    refused === null || refused.kind === 'response'
      ? 'which is not a host and port'
      : refused.kind === 'blocked'
        ? 'which is not a public address'
        : refused.message;
  const errorClass = refused?.kind === 'error' ? refused.class : 'connect';
  return fail(errorClass, `the cluster announces ${host.slice(0, 200)}, ${reason} (advertised.listeners)`);
}

/** Loads the leaders of a topic. The cluster is asked not to create the topic. */
export async function loadLeaders(connection: KafkaConnection, topic: string): Promise<Leaders> {
  const version = connection.versionOf(apis.metadata) ?? 1;
  const noCreation = version >= 4 ? [Buffer.from([0])] : [];
  const request = Buffer.concat([int32(1), string(topic), ...noCreation]);
  const response = await connection.request(apis.metadata, version, request);
  if (version >= 3) response.int32();
  const brokers = new Map(
    response.array(() => {
      const id = response.int32();
      const host = response.string();
      const broker = [id, `${host.includes(':') ? `[${host}]` : host}:${response.int32()}`] as const;
      response.string();
      return broker;
    }),
  );
  if (version >= 2) response.string();
  response.int32();
  const topics = response.array(() => {
    const code = response.int16();
    response.string();
    response.boolean();
    const partitions = response.array(() => {
      response.int16();
      const partition = [response.int32(), brokers.get(response.int32()) ?? null] as const;
      response.array(response.int32);
      response.array(response.int32);
      return partition;
    });
    return { code, partitions };
  });
  const { code, partitions } = topics[0] ?? { code: 3, partitions: [] };
  requireSuccess(code);
  if (partitions.length === 0) throw new CodeError(5);
  return new Map(partitions);
}

function loginOf(url: URL, { password = '' }: Readonly<Record<string, string>>): Login | null {
  const user = url.searchParams.get('user');
  const mechanism = mechanisms.find((name) => name === url.searchParams.get('mechanism')) ?? 'PLAIN';
  return user === null ? null : { mechanism, user, password };
}
