import type { ResolvedAddress } from '../dispatcher/send/resolver.ts';
import { type Failure, type FetchResponse, fail, maxKeptBytes, type SendResult } from '../dispatcher/send/result.ts';

/** Destination with an address that is not allowed. */
type Blocked = Extract<SendResult, { kind: 'blocked' }>;

/** Response of a broker, with the HTTP status that describes it best. */
export type BrokerAnswer = FetchResponse | Failure | Blocked;

/** Error that contains the answer to a message, for the delivery log. */
export class AnswerError extends Error {
  readonly answer: BrokerAnswer;
  constructor(answer: BrokerAnswer) {
    super('the server did not store the message');
    this.answer = answer;
  }
}

/** Converts an error of a broker client to an answer. */
export const answerOfFailure = (error: unknown): BrokerAnswer =>
  error instanceof AnswerError ? error.answer : fail('other', error instanceof Error ? error.message : String(error));

/** Settings for connecting to a broker. */
export type BrokerSettings = {
  /** URL of the destination. */
  url: URL;
  isTls: boolean;
  secrets: Readonly<Record<string, string>>;
  /** Certificate authorities in PEM format, which replace the built-in ones. */
  ca?: string | undefined;
  /** Timeout for connecting, in milliseconds. */
  timeoutMs: number;
};

/** Broker server, with the addresses to which connections are allowed. */
export type BrokerServer = BrokerSettings & { addresses: readonly ResolvedAddress[] };

/** Message to publish. */
export type BrokerMessage = {
  url: URL;
  /** Webhook ID. Attempts of the same delivery have the same ID. */
  id: string;
  /** Messages with the same key must stay in order. */
  orderKey: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  timeoutMs: number;
};

/** Open connection to a broker. */
export type BrokerClient = {
  isOpen: () => boolean;
  /** Resolves when the connection is closed, for whatever reason. */
  closed: Promise<void>;
  /** Publishes a message and waits until the broker has stored it. */
  publish: (message: BrokerMessage) => Promise<BrokerAnswer>;
  close: () => Promise<void>;
};

/** Creates the response of a broker that does not use HTTP. */
export const answerOf = (status: number, text: string): FetchResponse => ({
  kind: 'response',
  status,
  headers: {},
  body: Buffer.from(text).subarray(0, maxKeptBytes),
  truncated: false,
});

/** Returns the JSON object in a response, or an empty object if the response contains anything else. */
export function objectOf(body: Buffer): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Creates a promise together with the functions that settle it. */
export function promiseOf<Value>() {
  let resolve: (value: Value) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<Value>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}
