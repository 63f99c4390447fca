import { AnswerError, answerOf } from '../broker.ts';

type KafkaError = {
  name: string;
  /** HTTP status that describes the error best. */
  status: number;
  text: string;
  /** Whether the same message can be sent again immediately, after the metadata has been loaded again. */
  isTemporary: boolean;
};

const temporary = (name: string, text: string): KafkaError => ({ name, status: 503, text, isTemporary: true });
const lasting = (name: string, status: number, text: string): KafkaError => ({
  name,
  status,
  text,
  isTemporary: false,
});

const moved = 'The leader of the partition has moved.';
const replicas = 'Too few replicas are in sync.';
const forbidden = 'The user is not allowed to write to the topic.';
const tooLarge = 'The message is larger than the topic allows (max.message.bytes).';
const rejected = 'The broker rejected the message.';
const restarted = 'The broker no longer knows this producer. The next attempt starts a new one.';

/** Error codes of the Kafka protocol. */
const errors: Readonly<Record<number, KafkaError>> = {
  2: lasting('CORRUPT_MESSAGE', 400, rejected),
  3: { ...temporary('UNKNOWN_TOPIC_OR_PARTITION', 'The topic does not exist.'), status: 404 },
  5: temporary('LEADER_NOT_AVAILABLE', 'The partition has no leader at the moment.'),
  6: temporary('NOT_LEADER_OR_FOLLOWER', moved),
  7: temporary('REQUEST_TIMED_OUT', 'The replicas did not confirm the message in time.'),
  8: temporary('BROKER_NOT_AVAILABLE', 'The broker is not available.'),
  9: temporary('REPLICA_NOT_AVAILABLE', 'The replica is not available.'),
  10: lasting('MESSAGE_TOO_LARGE', 413, tooLarge),
  13: temporary('NETWORK_EXCEPTION', 'The brokers cannot reach each other.'),
  14: temporary('COORDINATOR_LOAD_IN_PROGRESS', 'The broker is starting.'),
  15: temporary('COORDINATOR_NOT_AVAILABLE', 'The broker is starting.'),
  17: lasting('INVALID_TOPIC_EXCEPTION', 400, 'The broker does not allow messages to this topic.'),
  18: lasting('RECORD_LIST_TOO_LARGE', 413, tooLarge),
  19: temporary('NOT_ENOUGH_REPLICAS', replicas),
  20: temporary('NOT_ENOUGH_REPLICAS_AFTER_APPEND', replicas),
  29: lasting('TOPIC_AUTHORIZATION_FAILED', 403, forbidden),
  31: lasting('CLUSTER_AUTHORIZATION_FAILED', 403, forbidden),
  32: lasting('INVALID_TIMESTAMP', 400, rejected),
  33: lasting('UNSUPPORTED_SASL_MECHANISM', 401, 'The broker does not support the SASL mechanism.'),
  34: lasting('ILLEGAL_SASL_STATE', 401, 'The broker did not expect authentication.'),
  45: lasting('OUT_OF_ORDER_SEQUENCE_NUMBER', 503, restarted),
  47: lasting('INVALID_PRODUCER_EPOCH', 503, restarted),
  56: temporary('KAFKA_STORAGE_ERROR', 'The broker cannot write to its disk.'),
  58: lasting('SASL_AUTHENTICATION_FAILED', 401, 'The user name or password is wrong.'),
  59: lasting('UNKNOWN_PRODUCER_ID', 503, restarted),
  74: temporary('FENCED_LEADER_EPOCH', moved),
  75: temporary('UNKNOWN_LEADER_EPOCH', moved),
  87: lasting('INVALID_RECORD', 400, rejected),
  89: lasting('THROTTLING_QUOTA_EXCEEDED', 429, 'The quota of the user is used up.'),
};

/** Codes that the broker sends only if it has not stored the message. */
const refusalCodes = new Set([2, 3, 5, 6, 9, 10, 17, 18, 19, 29, 31, 32, 74, 75, 87, 89]);

/** Error code in a response, as an answer for the delivery log. */
export class CodeError extends AnswerError {
  /** Whether the same message can be sent again immediately. */
  readonly isTemporary: boolean;
  /** Whether it is certain that the broker has not stored the message. */
  readonly isRefusal: boolean;

  constructor(code: number, detail = '') {
    const entry = errors[code] ?? lasting('error', 503, 'The broker did not store the message.');
    const text = [entry.text, detail, `(${entry.name}, ${code})`].filter((part) => part !== '').join(' ');
    super(answerOf(entry.status, text));
    this.isTemporary = entry.isTemporary;
    this.isRefusal = refusalCodes.has(code);
  }
}

/** Throws a `CodeError` unless the code is 0. */
export function requireSuccess(code: number, detail?: string): void {
  if (code !== 0) throw new CodeError(code, detail);
}
