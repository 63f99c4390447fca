import type { BlockReason } from '../../address-guard.ts';

/** Why no answer came, where it was not our doing. */
export const remoteErrorClasses = ['timeout', 'dns', 'connect', 'tls', 'reset', 'protocol', 'other'] as const;
type RemoteErrorClass = (typeof remoteErrorClasses)[number];

/** How much of an answer's body is kept (bytes). */
export const maxKeptBytes = 16_384;

/**
 * Why no answer came. `timeout`: the deadline passed, wherever the call stood. `dns`, `connect`, `tls`: no connection.
 * `reset`: the connection broke. `protocol`: not HTTP/1.1, or a head over 16 KiB. `local`: our doing (cancelled,
 * closed, out of sockets or memory, no resolver, no proxy).
 */
export type ErrorClass = RemoteErrorClass | 'local';

/**
 * Milliseconds. `dnsMs` is next to nothing where the host is an address; `connectMs` (TCP) and `tlsMs` are null on a
 * connection used before, or none; `firstByteMs` runs from the start of the call to the response's head, and is null
 * where none came.
 */
export type Timing = {
  dnsMs: number;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  totalMs: number;
};

/** Measures a call. */
export type Clock = { timing: Timing; elapsedMs: () => number };

/** `headers` have lower-case names, repeats joined by a comma, 16 KiB in all; `body` is as received, never unpacked. */
export type Answer = {
  kind: 'response';
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  truncated: boolean;
};
export type Failure = { kind: 'error'; class: ErrorClass; message: string };

export type SendResult =
  | (Answer & { remoteAddress: string; timing: Timing })
  | { kind: 'blocked'; reason: BlockReason }
  /** `remoteAddress`: where a connection was made. */
  | (Failure & { remoteAddress?: string; timing: Timing });

export type SendRequest = {
  url: string;
  method: 'POST' | 'GET' | 'HEAD';
  headers: Record<string, string>;
  body: Buffer | null;
  /** One limit over lookup, connect, TLS, head and body together. */
  deadlineMs: number;
  /** Ends the call early, as `local`. */
  signal?: AbortSignal;
};

export const fail = (errorClass: ErrorClass, message: string): Failure => ({
  kind: 'error',
  class: errorClass,
  message,
});
