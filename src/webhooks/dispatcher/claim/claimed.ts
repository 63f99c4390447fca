import type { SealedHeaders, SealedSecrets } from '../../signature.ts';
import type { Method } from '../send/request.ts';

/** Live deliveries go first; redeliveries use what they leave, within a small share. */
export type Lane = 'live' | 'redelivery';

/**
 * trusted: the endpoint has succeeded, and nothing limits it; untried: none of its calls has ended yet; tried: all
 * others. The last two are not trusted.
 */
export type Standing = 'trusted' | 'untried' | 'tried';

/** A delivery under lease. No other worker sends it until the lease ends or its worker is found dead. */
export type Claimed = {
  deliveryId: string;
  /** Day of the partition with its rows, such as `2026-11-21`. */
  day: string;
  /** Number of the claim. Every later write refers to it. */
  generation: number;
  publisherId: number;
  endpointId: number;
  event: string;
  dev: boolean;
  payload: Buffer;
  /** Trace context of the operation that caused the delivery, or null without a trace. */
  traceparent: string | null;
  /** Attempts made before this one. */
  attempts: number;
  /** Time since the delivery was due, in milliseconds. */
  lagMs: number;
  url: string;
  method: Method;
  /** Custom headers of the endpoint. */
  headers: SealedHeaders;
  secrets: SealedSecrets;
  /** Sealed keys of ed25519 signatures; empty if the endpoint has none. */
  v1aKeys: readonly Buffer[];
  deadlineMs: number;
  strictOrder: boolean;
  /** Maximum number of calls in flight. */
  maxInFlight: number;
  /** Maximum number of calls per second, or null without a limit. */
  perS: number | null;
  standing: Standing;
  /** Whether another success would not change the endpoint's health. */
  healthy: boolean;
  /** Waits before each attempt, in seconds, or null for the default schedule. */
  steps: number[] | null;
};

/** An endpoint that may be called, as a claim read it. */
export type Candidate = {
  endpointId: number;
  standing: Standing;
  /** Maximum number of deliveries the claim could have taken; 0 or less if the endpoint is at its limit. */
  room: number;
};
