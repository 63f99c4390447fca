import type { JetStreamClient, JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLogSetting } from '../config.ts';

/** A message of the log. */
export type LogMessage = { sequence: number; data: Uint8Array; atMs: number };

/** A connection to the stream that keeps the events. */
export type LogConnection = {
  /** When the stream was made: tells its sequences from those of an earlier stream of its name. */
  streamCreated: string;
  /**
   * Appends a message; resolves when the servers that must have it do.
   * @param id a second message with the id of one of the last two minutes is dropped
   */
  append: (partition: number, data: Uint8Array, id: string, timeoutMs: number) => Promise<void>;
  /** The messages of a partition after one, in order, those to come too; ends when it is stopped or closed. */
  read: (partition: number, afterSequence: number) => Promise<LogReader>;
  /** Sequence of the last message of a partition; 0: there is none. */
  lastSequence: (partition: number) => Promise<number>;
  /** Removes the messages of a partition up to one. */
  remove: (partition: number, upToSequence: number) => Promise<void>;
  /** Resolves when the connection has ended for good. */
  closed: Promise<void>;
  close: () => Promise<void>;
};

type LogReader = {
  messages: AsyncIterable<LogMessage>;
  stop: () => Promise<void>;
};

/** The stream has settings by which events would be lost, or is no stream of Perkwire. */
export class ForeignStreamError extends Error {}

/** How long a server may take to answer before another is asked (milliseconds). */
const requestTimeoutMs = 2_000;
/** A connection without an answer to pings for twice this long is given up (milliseconds). */
const pingMs = 1_000;
const reconnectMs = 100;
/** Messages asked for at once (count): the next are on their way while these are stored. */
const readAhead = 256;
/** How long one request for messages waits, and how long a retry does after a server was lost (milliseconds). */
const readTimeoutMs = 2_000;

/** Connects and makes the stream, where there is none. @throws ForeignStreamError; errors of the client */
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

/** Messages stay until we remove them; a full log refuses new ones, and drops nothing that was acknowledged. */
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

function refuseForeign(found: StreamConfig, wanted: ReturnType<typeof streamSettings>): void {
  const differing = Object.entries(wanted).flatMap(([name, value]) => {
    const actual = found[name as keyof StreamConfig];
    return JSON.stringify(actual) === JSON.stringify(value)
      ? []
      : [`${name} is ${JSON.stringify(actual)}, not ${JSON.stringify(value)}`];
  });
  if (differing.length > 0)
    throw new ForeignStreamError(
      `The stream ${wanted.name} of EVENT_LOG_URL has other settings than Perkwire's (${differing.join('; ')}): ` +
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
      const found = await consumer.consume({
        max_messages: readAhead,
        expires: readTimeoutMs,
        abort_on_missing_resource: true, // a server that was restarted may have lost the consumer: another is made
      });
      return {
        messages: mapMessages(found),
        stop: async () => {
          // Resolves once the messages are read to their end, which a reader that gives up never does.
          void found.close();
          await consumer.delete().catch(() => {}); // the server removes what nobody reads
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
  found: AsyncIterable<{ seq: number; data: Uint8Array; time: Date }>,
): AsyncIterable<LogMessage> {
  for await (const { seq, data, time } of found) yield { sequence: seq, data, atMs: time.getTime() };
}
