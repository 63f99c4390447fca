import type { JetStreamClient, JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLogSetting } from '../config.ts';

/** A message of the log. */
export type LogMessage = { sequence: number; data: Uint8Array; atMs: number };

/** A connection to the stream of events. */
export type LogConnection = {
  /**
   * Creation time of the stream, which distinguishes its sequences from those of an earlier stream of the same name.
   */
  streamCreated: string;
  /**
   * Appends a message. Resolves when the required number of servers have it.
   * @param id a second message with an id of the last two minutes is dropped
   */
  append: (partition: number, data: Uint8Array, id: string, timeoutMs: number) => Promise<void>;
  /**
   * Reads the messages of a partition after a sequence, in order, including future ones, until it is stopped or closed.
   */
  read: (partition: number, afterSequence: number) => Promise<LogReader>;
  /** Sequence of the last message of a partition, or 0. */
  lastSequence: (partition: number) => Promise<number>;
  /** Removes the messages of a partition up to a sequence. */
  remove: (partition: number, upToSequence: number) => Promise<void>;
  /** Resolves when the connection has ended permanently. */
  closed: Promise<void>;
  close: () => Promise<void>;
};

type LogReader = {
  messages: AsyncIterable<LogMessage>;
  stop: () => Promise<void>;
};

/** The stream has settings that would lose events, or is not a stream of Perkwire. */
export class ForeignStreamError extends Error {}

/** Timeout of a request, in milliseconds, before another server is used. */
const requestTimeoutMs = 2_000;
/** Ping interval in milliseconds. A connection without responses for twice this time is given up. */
const pingMs = 1_000;
const reconnectMs = 100;
/** Number of messages requested at once, so that the next ones are transferred while these are stored. */
const readAhead = 256;
/** Timeout of a request for messages, and of a retry after a server was lost, in milliseconds. */
const readTimeoutMs = 2_000;

/** Connects, and creates the stream if it does not exist. @throws ForeignStreamError; errors of the client */
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
 * Settings of the stream. Messages stay until we remove them; a full log refuses new ones and drops no acknowledged
 * ones.
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
          // Resolves when the messages are read to their end, which a reader that gives up never does.
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
