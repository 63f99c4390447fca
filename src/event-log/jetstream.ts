import type { JetStreamClient, JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLogSetting } from '../config.ts';

/** A message in the event log. */
export type LogMessage = { sequence: number; data: Uint8Array; atMs: number };

/** A connection to the event stream. */
export type LogConnection = {
  /**
   * Creation time of the stream. Sequence numbers are only comparable within one stream, and an earlier stream may have
   * had the same name.
   */
  streamCreated: string;
  /**
   * Appends a message. Resolves when the required number of servers have stored it.
   * @param id message ID; the log drops a message whose ID was used in the last two minutes
   */
  append: (partition: number, data: Uint8Array, id: string, timeoutMs: number) => Promise<void>;
  /**
   * Reads the messages of a partition after a sequence number, in order. The reader waits for new messages until it is
   * stopped or the connection is closed.
   */
  read: (partition: number, afterSequence: number) => Promise<LogReader>;
  /** Returns the sequence number of the last message in a partition, or 0 if it has none. */
  lastSequence: (partition: number) => Promise<number>;
  /** Deletes the messages of a partition up to and including a sequence number. */
  remove: (partition: number, upToSequence: number) => Promise<void>;
  /** Resolves when the connection is closed permanently. */
  closed: Promise<void>;
  close: () => Promise<void>;
};

type LogReader = {
  messages: AsyncIterable<LogMessage>;
  stop: () => Promise<void>;
};

/** Thrown if the stream was not created by Perkwire, or has settings that would lose events. */
export class ForeignStreamError extends Error {}

/** Time to wait for a server before trying another one, in milliseconds. */
const requestTimeoutMs = 2_000;
/** Ping interval, in milliseconds. If a server does not respond for twice this time, the connection is closed. */
const pingMs = 1_000;
const reconnectMs = 100;
/** Number of messages to prefetch, so that messages are transferred while earlier ones are being stored. */
const readAhead = 256;
/**
 * Timeout for a request for messages, in milliseconds. Also the delay before a retry after the connection to a server
 * was lost.
 */
const readTimeoutMs = 2_000;

/**
 * Connects to the servers, and creates the stream if it does not exist.
 * @throws ForeignStreamError, or errors of the NATS client
 */
export async function connectToLog({ servers, login, stream, replicas }: EventLogSetting): Promise<LogConnection> {
  const [{ connect }, nats] = await Promise.all([import('@nats-io/transport-node'), import('@nats-io/jetstream')]);
  const connection = await connect({
    servers: [...servers],
    ...login,
    name: 'perkwire',
    timeout: requestTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectMs,
    pingInterval: pingMs,
    maxPingOut: 2,
  });
  try {
    const manager = await nats.jetstreamManager(connection, { timeout: requestTimeoutMs });
    const settings = streamSettings(stream, replicas, nats);
    const info = await manager.streams.info(stream).catch(async (err) => {
      if (err?.code !== nats.JetStreamApiCodes.StreamNotFound) throw err;
      return manager.streams.add(settings);
    });
    refuseForeign(info.config, settings);
    return open(connection, nats.jetstream(connection, { timeout: requestTimeoutMs }), manager, info, nats);
  } catch (err) {
    await connection.close();
    throw err;
  }
}

type Nats = typeof import('@nats-io/jetstream');

const subjectOf = (stream: string, partition: number): string => `${stream}.${partition}`;

/**
 * Returns the stream settings. Messages are retained until they are deleted explicitly. A full log rejects new messages
 * rather than dropping acknowledged ones.
 */
const streamSettings = (stream: string, replicas: number, nats: Nats) => ({
  name: stream,
  subjects: [`${stream}.*`],
  retention: nats.RetentionPolicy.Limits,
  storage: nats.StorageType.File,
  discard: nats.DiscardPolicy.New,
  num_replicas: replicas,
  max_age: 0,
  max_msgs_per_subject: -1,
});

function refuseForeign(actualSettings: StreamConfig, expected: ReturnType<typeof streamSettings>): void {
  const differing = Object.entries(expected).flatMap(([name, value]) => {
    const actual = actualSettings[name as keyof StreamConfig];
    return JSON.stringify(actual) === JSON.stringify(value)
      ? []
      : [`${name} is ${JSON.stringify(actual)}, not ${JSON.stringify(value)}`];
  });
  if (differing.length > 0)
    throw new ForeignStreamError(
      `The stream ${expected.name} of EVENT_LOG_URL has other settings than Perkwire's ` +
        `(${differing.join('; ')}): ` +
        'change them, or name another stream by EVENT_LOG_STREAM.',
    );
}

function open(
  connection: NatsConnection,
  client: JetStreamClient,
  manager: JetStreamManager,
  info: StreamInfo,
  { DeliverPolicy }: Nats,
): LogConnection {
  const stream = info.config.name;
  return {
    streamCreated: info.created,
    append: async (partition, data, id, timeoutMs) => {
      await client.publish(subjectOf(stream, partition), data, {
        msgID: id,
        timeout: timeoutMs,
        expect: { streamName: stream },
      });
    },
    read: async (partition, afterSequence) => {
      const consumer = await client.consumers.get(stream, {
        filter_subjects: subjectOf(stream, partition),
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: afterSequence + 1,
      });
      const messages = await consumer.consume({
        max_messages: readAhead,
        expires: readTimeoutMs,
        abort_on_missing_resource: true, // a restarted server may have lost the consumer, then create another
      });
      return {
        messages: mapMessages(messages),
        stop: async () => {
          // Don't await this: `close()` resolves only after all messages have been read, which never happens if the
          // reader stops early.
          void messages.close();
          await consumer.delete().catch(() => {}); // the server removes unused consumers
        },
      };
    },
    lastSequence: async (partition) =>
      (await manager.streams.getMessage(stream, { last_by_subj: subjectOf(stream, partition) }))?.seq ?? 0,
    remove: async (partition, upToSequence) => {
      await manager.streams.purge(stream, { filter: subjectOf(stream, partition), seq: upToSequence + 1 });
    },
    closed: connection.closed().then(() => {}),
    close: () => connection.close(),
  };
}

async function* mapMessages(
  messages: AsyncIterable<{ seq: number; data: Uint8Array; time: Date }>,
): AsyncIterable<LogMessage> {
  for await (const { seq, data, time } of messages) yield { sequence: seq, data, atMs: time.getTime() };
}
