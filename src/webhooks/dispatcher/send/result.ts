import type { BlockReason } from '../../address-guard.ts';

/** Error classes for missing responses that are not caused by this installation. */
export const remoteErrorClasses = ['timeout', 'dns', 'connect', 'tls', 'reset', 'protocol', 'other'] as const;
type RemoteErrorClass = (typeof remoteErrorClasses)[number];

/** Maximum size of a stored response body, in bytes. */
export const maxKeptBytes = 16_384;

/**
 * Reason why there is no response:
 * - `timeout`: the deadline passed, in any phase
 * - `dns`, `connect`, `tls`: no connection could be established
 * - `reset`: the connection was reset or closed by the receiver
 * - `protocol`: not HTTP/1.1, or a response head over 16 KiB
 * - `local`: a failure of this installation (cancelled, shut down, out of sockets or memory, no resolver, no proxy)
 */
export type ErrorClass = RemoteErrorClass | 'local';

/**
 * Timing of a call, in milliseconds. `dnsMs` is nearly 0 if the host is an IP address. `connectMs` (TCP) and `tlsMs`
 * are null for a reused connection, or if there was no connection. `firstByteMs` is the time from the start of the call
 * to the response head, and null without a response.
 */
export type Timing = {
  dnsMs: number;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  totalMs: number;
};

/** Stopwatch of a call. */
export type Clock = { timing: Timing; elapsedMs: () => number };

/**
 * Received response. `headers` have lower-case names, with repeated headers joined by a comma, up to 16 KiB in total.
 * `body` is stored as received and never decompressed.
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
  method: 'POST' | 'GET' | 'HEAD';
  headers: Record<string, string>;
  body: Buffer | null;
  /** Time limit for DNS lookup, connection, TLS, response head and body together, in milliseconds. */
  deadlineMs: number;
  /** Signal that ends the call early, with the error class `local`. */
  signal?: AbortSignal;
};

export const fail = (errorClass: ErrorClass, message: string): Failure => ({
  kind: 'error',
  class: errorClass,
  message,
});
