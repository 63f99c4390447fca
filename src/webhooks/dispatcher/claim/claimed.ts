import type { SealedHeaders, SealedSecrets } from '../../signature.ts';
import type { Method } from '../send/request.ts';

/** Live deliveries go first; redeliveries use what they leave, within a small share. */
export type Lane = 'live' | 'redelivery';

/**
 * trusted: the endpoint has succeeded, and nothing limits it; untried: no call of it has ended yet; tried: all others.
 * The last two are not trusted.
 */
export type Standing = 'trusted' | 'untried' | 'tried';

/** A delivery under lease: no other worker sends it until the lease ends or its worker is found dead. */
export type Claimed = {
  deliveryId: string;
  /** The partition its rows live in, such as `2026-11-21`. */
  day: string;
  /** Number of the claim; every later write names it. */
  generation: number;
  publisherId: number;
  endpointId: number;
  event: string;
  dev: boolean;
  payload: Buffer;
  /** Of the operation that caused it; null: it is part of no trace. */
  traceparent: string | null;
  /** Attempts made before this one. */
  attempts: number;
  /** How long it has been due, milliseconds. */
  lagMs: number;
  url: string;
  method: Method;
  /** Headers the publisher wants with each call. */
  headers: SealedHeaders;
  secrets: SealedSecrets;
  /** Sealed keys of ed25519 signatures; empty where the endpoint has none. */
  v1aKeys: readonly Buffer[];
  deadlineMs: number;
  strictOrder: boolean;
  /** Calls in flight at most (count). */
  maxInFlight: number;
  /** Calls a second at most; null: no limit. */
  perS: number | null;
  standing: Standing;
  /** Another success would change nothing of the endpoint's health. */
  healthy: boolean;
  /** Waits before each attempt, seconds; null: the default schedule. */
  steps: number[] | null;
};

/** An endpoint that may be called, as a claim read it. */
export type Candidate = {
  endpointId: number;
  standing: Standing;
  /** Deliveries it might have been given (count); 0 or less: it is at its limit. */
  room: number;
};
