import { setTimeout as sleep } from 'node:timers/promises';
import { AnswerError, answerOf, answerOfFailure, type BrokerClient, type BrokerMessage, promiseOf } from '../broker.ts';
import { createBrokers, type KafkaSettings, type Leaders, loadLeaders } from './brokers.ts';
import { apis, type KafkaConnection } from './connection.ts';
import { CodeError, requireSuccess } from './errors.ts';
import {
  bytes,
  encodeBatch,
  int16,
  int32,
  type KafkaRecord,
  partitionOf,
  type Reader,
  type Sequence,
  string,
} from './protocol.ts';

/*
 * Producer for Kafka that sends one message per request with acks=all. It asks for the leaders of the partitions, and
 * connects only to leaders whose addresses the address guard allows. If a leader moves or a connection is lost, a
 * message is sent again with the same sequence number, so that the cluster stores it once.
 */

/** Time after which metadata is loaded again, in milliseconds. */
const metadataMaxAgeMs = 300_000;
/** Maximum number of times that a message is sent in one delivery attempt, and the pause in between. */
const maxTries = 3;
const pauseMs = 100;
/** Code for a message that the broker has already stored. */
const duplicateCode = 46;

/** Position of a stored message. */
type Stored = { partition: number; offset: bigint; duplicate: boolean };

/**
 * Connects to a Kafka cluster.
 * @throws AnswerError with the answer for the delivery log
 */
export async function connectToKafka(settings: KafkaSettings): Promise<BrokerClient> {
  const { url, timeoutMs } = settings;
  const topic = decodeURIComponent(url.pathname.slice(1));
  const brokers = createBrokers(settings);
  const closed = promiseOf<void>();
  const tails = new Map<number, Promise<unknown>>();
  const sequences = new Map<number, number>();
  let isOpen = true;
  let leaders: Promise<Leaders> | null = null;
  let leadersLoadedMs = 0;

  const end = (): void => {
    isOpen = false;
    brokers.close();
    closed.resolve();
  };

  const leadersOf = (): Promise<Leaders> => {
    const isFresh = performance.now() - leadersLoadedMs < metadataMaxAgeMs;
    if (leaders !== null && isFresh) return leaders;
    leadersLoadedMs = performance.now();
    const loading = brokers.bootstrap().then((connection) => loadLeaders(connection, topic));
    leaders = loading;
    loading.catch(() => {
      if (leaders === loading) leaders = null;
    });
    return loading;
  };

  const timer = setTimeout(end, timeoutMs);
  const producer = await brokers
    .bootstrap()
    .then(startProducer)
    .catch((error) => {
      end();
      throw error;
    })
    .finally(() => clearTimeout(timer));

  /** Sends a message once. Calls `onSend` immediately before it is sent. */
  const produceOnce = async (partition: number, record: KafkaRecord, onSend: () => void): Promise<Stored> => {
    const leader = (await leadersOf()).get(partition) ?? null;
    if (leader === null) throw new CodeError(5);
    const connection = await brokers.leader(leader);
    const sequence = producer === null ? -1 : (sequences.get(partition) ?? 0);
    const batch = encodeBatch(record, { ...(producer ?? { producerId: -1n, epoch: -1 }), sequence });
    const body = [string(null), int16(-1), int32(timeoutMs), int32(1), string(topic), int32(1), int32(partition)];
    onSend();
    const response = await connection.request(apis.produce, 3, Buffer.concat([...body, bytes(batch)]));
    const [result] = response
      .array(() => {
        response.string();
        return response.array(() => partitionResult(response));
      })
      .flat();
    if (result === undefined) throw new CodeError(-1);
    const duplicate = result.code === duplicateCode;
    if (!duplicate) requireSuccess(result.code);
    sequences.set(partition, (sequence + 1) & 0x7fffffff);
    return { partition, offset: result.offset, duplicate };
  };

  /** Sends a message until the leader stores it or refuses it for a lasting reason. */
  const produce = async (partition: number, record: KafkaRecord): Promise<Stored> => {
    let maybeStored = false;
    for (let tries = 1; ; tries++) {
      const wasMaybeStored: boolean = maybeStored;
      try {
        return await produceOnce(partition, record, () => {
          maybeStored = true;
        });
      } catch (error) {
        if (error instanceof CodeError && error.isRefusal) maybeStored = wasMaybeStored;
        const canRepeat = error instanceof CodeError ? error.isTemporary : isLost(error);
        leaders = null;
        if (canRepeat && tries < maxTries && isOpen && (producer !== null || !maybeStored)) {
          await sleep(pauseMs * tries, undefined, { ref: false });
          continue;
        }
        // The next message must not get the sequence number of a message that may have been stored.
        if (maybeStored) end();
        throw error;
      }
    }
  };

  return {
    closed: closed.promise,
    isOpen: () => isOpen,
    close: async () => end(),
    publish: async ({ orderKey, headers, body }: BrokerMessage) => {
      try {
        const key = Buffer.from(orderKey);
        const partition = partitionOf(key, (await leadersOf()).size);
        const timestampMs = Number(headers['webhook-timestamp'] ?? 0) * 1000;
        const record = { key, value: body, headers, timestampMs };
        // Sequence numbers must arrive in order, so each partition has one request at a time.
        const stored = (tails.get(partition) ?? Promise.resolve()).then(() => produce(partition, record));
        tails.set(
          partition,
          stored.catch(() => {}),
        );
        const { offset, duplicate } = await stored;
        return answerOf(200, JSON.stringify({ topic, partition, offset: Number(offset), duplicate }));
      } catch (error) {
        return answerOfFailure(error);
      }
    },
  };
}

/** Whether an error may mean that the connection was lost. */
const isLost = (error: unknown): boolean =>
  error instanceof AnswerError && error.answer.kind === 'error' && /^(reset|connect|timeout)$/.test(error.answer.class);

/** Starts a producer with sequence numbers. Returns null if the user or the broker does not allow it. */
async function startProducer(connection: KafkaConnection): Promise<Omit<Sequence, 'sequence'> | null> {
  if (connection.versionOf(apis.initProducerId) === null) return null;
  const response = await connection.request(apis.initProducerId, 0, Buffer.concat([string(null), int32(0)]));
  response.int32();
  const code = response.int16();
  const forbiddenCode = 31;
  if (code === forbiddenCode) return null;
  requireSuccess(code);
  return { producerId: response.int64(), epoch: response.int16() };
}

function partitionResult(response: Reader): { code: number; offset: bigint } {
  response.int32();
  const result = { code: response.int16(), offset: response.int64() };
  response.int64();
  return result;
}
