import type { BlockReason } from '../../address-guard.ts';

/** Reasons for a missing response that are not our own fault. */
export const remoteErrorClasses = ['timeout', 'dns', 'connect', 'tls', 'reset', 'protocol', 'other'] as const;
type RemoteErrorClass = (typeof remoteErrorClasses)[number];

/** Maximum size of a stored response body, in bytes. */
export const maxKeptBytes = 16_384;

/**
 * Reason for a missing response. `timeout`: the deadline passed, in any phase. `dns`, `connect`, `tls`: no connection.
 * `reset`: the connection broke. `protocol`: not HTTP/1.1, or a head over 16 KiB. `local`: our own fault (cancelled,
 * closed, out of sockets or memory, no resolver, no proxy).
 */
export type ErrorClass = RemoteErrorClass | 'local';

/**
 * Times in milliseconds. `dnsMs` is nearly 0 if the host is an address. `connectMs` (TCP) and `tlsMs` are null for a
 * reused connection, or without one. `firstByteMs` runs from the start of the call to the response head, and is null
 * without a response.
 */
export type Timing = {
  dnsMs: number;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  totalMs: number;
};

/** Timer of a call. */
export type Clock = { timing: Timing; elapsedMs: () => number };

/**
 * `headers` have lower-case names, and repeated ones are joined by a comma, up to 16 KiB in total; `body` is as
 * received, never decompressed.
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
  /** `remoteAddress`: set if a connection was made. */
  | (Failure & { remoteAddress?: string; timing: Timing });

export type SendRequest = {
  url: string;
  method: 'POST' | 'GET' | 'HEAD';
  headers: Record<string, string>;
  body: Buffer | null;
  /** One limit for lookup, connect, TLS, head and body together. */
  deadlineMs: number;
  /** Ends the call early, as `local`. */
  signal?: AbortSignal;
};

export const fail = (errorClass: ErrorClass, message: string): Failure => ({
  kind: 'error',
  class: errorClass,
  message,
});
