import type { BlockReason } from '../../address-guard.ts';

/** Error classes for calls without a response, if the cause is outside this installation. */
export const remoteErrorClasses = ['timeout', 'dns', 'connect', 'tls', 'reset', 'protocol', 'other'] as const;
type RemoteErrorClass = (typeof remoteErrorClasses)[number];

/** Maximum size of a stored response body, in bytes. */
export const maxKeptBytes = 16_384;

/**
 * Reason why there is no response:
 * - `timeout`: the deadline passed, in any phase
 * - `dns`, `connect`, `tls`: no connection could be established
 * - `reset`: the receiver reset or closed the connection
 * - `protocol`: the response was not HTTP/1.1, or its head exceeded 16 KiB
 * - `local`: a failure of this installation (cancelled, shut down, out of sockets or memory, no resolver, no proxy)
 * - `transformation`: the endpoint's transformation failed, so nothing was sent
 */
export type ErrorClass = RemoteErrorClass | 'local' | 'transformation';

/**
 * Timing of a call, in milliseconds. `dnsMs` is nearly 0 if the host is an IP address. `connectMs` (TCP) and `tlsMs`
 * are null if a connection was reused or none was established. `firstByteMs` is the time from the start of the call to
 * the response head, or null if there was no response.
 */
export type Timing = {
  dnsMs: number;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  totalMs: number;
};

/** Stopwatch for a call. */
export type Clock = { timing: Timing; elapsedMs: () => number };

/**
 * Received response. `headers` have lower-case names, and repeated headers are joined by a comma. Together, they have
 * up to 16 KiB. `body` is stored as received and never decompressed.
 */
export type FetchResponse = {
  kind: 'response';
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  truncated: boolean;
};
export type Failure = { kind: 'error'; class: ErrorClass; message: string };

export type SendResult =
  | (FetchResponse & { remoteAddress: string; timing: Timing })
  | { kind: 'blocked'; reason: BlockReason }
  /** `remoteAddress` is set if a connection was established. */
  | (Failure & { remoteAddress?: string; timing: Timing });

export type SendRequest = {
  url: string;
  method: 'POST' | 'GET' | 'HEAD' | 'PUT';
  headers: Record<string, string>;
  body: Buffer | null;
  /**
   * Time limit for the whole call, in milliseconds. It covers the DNS lookup, connection, TLS, response head and body.
   */
  deadlineMs: number;
  /** Signal that ends the call early, with the error class `local`. */
  signal?: AbortSignal;
  /** Set for destinations other than HTTP. */
  destination?: DestinationPart;
};

/** Part of a request that only destinations other than HTTP use. */
export type DestinationPart = {
  /** Webhook ID. Attempts of the same delivery have the same ID. */
  id: string;
  /** Key of the deliveries that must stay in order. */
  orderKey: string;
  secrets: Readonly<Record<string, string>>;
};

export const fail = (errorClass: ErrorClass, message: string): Failure => ({
  kind: 'error',
  class: errorClass,
  message,
});

/** Returns the result of a call that could not be made or evaluated. */
export const localFailure = (error: unknown): Extract<SendResult, Failure> => ({
  ...fail('local', `the request could not be made: ${error instanceof Error ? error.message : String(error)}`),
  timing: { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 },
});
