import type { Executor } from '../../../platform/db/pool.ts';
import type { SealedHeaders, SealedSecrets } from '../../endpoints/secrets.ts';
import type { Method } from '../send/target-url.ts';
import { claimStatement, contentStatement } from './claim-statement.ts';
import type { Allowance } from './concurrency.ts';
import type { RateAllowance } from './rate-limiter.ts';

/** Live deliveries go first; redeliveries use what they leave, within a small share. */
export type Lane = 'live' | 'redelivery';

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
  /** The endpoint has succeeded, and nothing limits it. */
  trusted: boolean;
  /** Another success would change nothing of the endpoint's health. */
  healthy: boolean;
  /** Waits before each attempt, seconds; null: the default schedule. */
  steps: number[] | null;
};

/** An endpoint that may be called, as a claim read it. */
export type Candidate = {
  endpointId: number;
  trusted: boolean;
  /** Deliveries it might have been given (count); 0 or less: it is at its limit. */
  room: number;
};

type Found = {
  delivery_id: string;
  day: string;
  generation: number;
  attempts: number;
  lag_ms: number;
  publisher_id: number;
  url: string;
  method: Method;
  headers: SealedHeaders;
  deadline_ms: number;
  retry_steps_s: number[] | null;
  strict_order: boolean;
  max_in_flight: number;
  per_s: number | null;
  healthy: boolean;
  secret_sealed: Buffer;
  previous_secret_sealed: Buffer | null;
  v1a_key_sealed: Buffer | null;
  previous_v1a_key_sealed: Buffer | null;
};

/** What is sent. */
type Content = { event: string; dev: boolean; payload: Buffer; traceparent: string | null };

/** One row for each delivery, or one without for an endpoint that had none. */
type Row = { endpoint_id: number; trusted: boolean; room: number } & (
  | (Found & (Content | { payload: null }))
  | { delivery_id: null }
);

export type ClaimRequest = Allowance &
  RateAllowance & {
    workerId: number;
    lane: Lane;
    /** The endpoints to claim from, in their order. */
    endpointIds: readonly number[];
    /** Ended leases may be taken over. */
    takeOver: boolean;
  };

/** What the statement takes, in the order of its parameters. */
const parameters = [
  ...(['workerId', 'lane', 'endpointIds', 'trusted', 'untrusted', 'perUnproven', 'busyIds', 'busyCounts'] as const),
  ...(['slowIds', 'limitedIds', 'limitedCounts', 'takeOver'] as const),
];

/** Leases deliveries that are due at some endpoints to a worker. */
export async function claim(
  executor: Executor,
  request: ClaimRequest,
): Promise<{ claimed: Claimed[]; candidates: Candidate[] }> {
  const { rows } = await executor.query<Row>({
    name: 'claim_deliveries',
    text: claimStatement,
    values: parameters.map((name) => request[name]),
  });
  const candidates = new Map(
    rows.map((row) => [row.endpoint_id, { endpointId: row.endpoint_id, trusted: row.trusted, room: row.room }]),
  );
  const found = rows.filter(isFound);
  await addContents(
    executor,
    found.filter(({ payload }) => payload === null),
  );
  return { claimed: found.filter(hasContent).map(claimedOf), candidates: [...candidates.values()] };
}

type FoundRow = Extract<Row, Found>;
export type WholeRow = Extract<FoundRow, Content>;
const isFound = (row: Row): row is FoundRow => row.delivery_id !== null;
const hasContent = (row: FoundRow): row is WholeRow => row.payload !== null;

/** Adds the contents of older deliveries, which the claim does not read. */
async function addContents(executor: Executor, rows: readonly FoundRow[]): Promise<void> {
  if (rows.length === 0) return;
  const read = await executor.query<Content & { delivery_id: string }>({
    name: 'read_older_contents',
    text: contentStatement,
    values: [rows.map(({ day }) => day), rows.map(({ delivery_id }) => delivery_id)],
  });
  const contents = new Map(read.rows.map((content) => [content.delivery_id, content]));
  for (const row of rows) Object.assign(row, contents.get(row.delivery_id));
}

export const claimedOf = (row: WholeRow): Claimed => ({
  deliveryId: row.delivery_id,
  day: row.day,
  generation: row.generation,
  publisherId: row.publisher_id,
  endpointId: row.endpoint_id,
  event: row.event,
  dev: row.dev,
  payload: row.payload,
  traceparent: row.traceparent,
  attempts: row.attempts,
  lagMs: row.lag_ms,
  url: row.url,
  method: row.method,
  headers: row.headers,
  secrets: { current: row.secret_sealed, previous: row.previous_secret_sealed },
  v1aKeys: [row.v1a_key_sealed, row.previous_v1a_key_sealed].filter((key) => key !== null),
  deadlineMs: row.deadline_ms,
  steps: row.retry_steps_s,
  strictOrder: row.strict_order,
  maxInFlight: row.max_in_flight,
  perS: row.per_s,
  trusted: row.trusted,
  healthy: row.healthy,
});
