import type { SealedHeaders, SealedSecrets } from '../../signature.ts';
import type { Transformation } from '../../transformations/evaluators.ts';
import type { Method } from '../send/request.ts';

/** Queue lane. Live deliveries have priority. Redeliveries use the remaining capacity, up to a small share. */
export type Lane = 'live' | 'redelivery';

/**
 * Standing of an endpoint. Untried and tried endpoints are also called untrusted.
 * - `trusted`: a call has succeeded, and nothing limits the endpoint.
 * - `untried`: no call to it has ended yet.
 * - `tried`: all other endpoints.
 */
export type Standing = 'trusted' | 'untried' | 'tried';

/**
 * Delivery that is leased to a worker. No other worker sends it until the lease expires or the worker is found to be
 * dead.
 */
export type Claimed = {
  deliveryId: string;
  /** Day of the partition that contains the delivery, such as `2026-11-21`. */
  day: string;
  /** Sequence number of the claim. All later writes for the delivery must match it. */
  generation: number;
  publisherId: number;
  endpointId: number;
  event: string;
  dev: boolean;
  payload: Buffer;
  /** Trace context of the operation that caused the delivery, or null if it was not traced. */
  traceparent: string | null;
  /** Number of attempts before this one. */
  attempts: number;
  /** Time since the delivery was due, in milliseconds. */
  lagMs: number;
  url: string;
  method: Method;
  /** Custom headers of the endpoint, encrypted. */
  headers: SealedHeaders;
  secrets: SealedSecrets;
  /** Encrypted keys for ed25519 signatures, or an empty list if the endpoint does not use them. */
  v1aKeys: readonly Buffer[];
  deadlineMs: number;
  /** Transformation of the endpoint, or null if events are sent unchanged. */
  transformation: Transformation | null;
  /** Whether the endpoint's last transformation failed. */
  transformationFailing: boolean;
  strictOrder: boolean;
  /** Maximum number of concurrent calls to the endpoint. */
  maxInFlight: number;
  /** Maximum number of calls per second, or null if there is no limit. */
  perS: number | null;
  standing: Standing;
  /** Whether the endpoint is healthy, so that another success would not change its stored health. */
  healthy: boolean;
  /** Delay before each attempt, in seconds, or null for the default retry schedule. */
  steps: number[] | null;
};

/** Endpoint that may be called, as read by a claim. */
export type Candidate = {
  endpointId: number;
  standing: Standing;
  /**
   * Maximum number of deliveries that the claim could have returned for this endpoint. 0 or less if the endpoint is at
   * its limit.
   */
  room: number;
};
