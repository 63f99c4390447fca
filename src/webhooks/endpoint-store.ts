import type { Condition } from '../catalog/conditions.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type SealedColumn, sealedColumn } from '../platform/security/sealed-column.ts';
import { kindOf } from './destinations/kinds.ts';
import type { Method } from './dispatcher/send/request.ts';
import type { DisableReason } from './dispatcher/settle/retry-schedule.ts';
import { type AttemptKey, type FailedAttempt, readFailedAttempts } from './last-failure.ts';
import { headerContext, type SealedHeaders, type SealedSecrets, secretContext, v1aContext } from './signature.ts';
import type { Transformation } from './transformations/evaluators.ts';

/** Settings of an endpoint other than its URL and method. */
export type EndpointSettings = {
  /** Description of the endpoint, entered by the publisher. May be empty. */
  description: string;
  /** Condition on the event payload, or null to receive all events. */
  filter: Condition | null;
  /** Encrypted custom headers that are sent with each call. */
  headers: SealedHeaders;
  deadlineMs: number;
  /** Delay before each attempt, in seconds, or null for the default schedule. */
  retryStepsS: number[] | null;
  maxInFlight: number;
  /** Maximum number of calls per second, or null if there is no limit. */
  rateLimitPerS: number | null;
  /** Whether deliveries are sent one at a time, in creation order. */
  strictOrder: boolean;
  /** Whether calls also carry an ed25519 signature. */
  signatureV1a: boolean;
  /** Expressions that change the body and headers of each call, or null to send events unchanged. */
  transformation: Transformation | null;
};

/** Reference to an endpoint: the event of a default endpoint, or the ID of any endpoint. */
export type EndpointRef = string | number;

/** Maximum number of endpoints per publisher. */
export const maxEndpoints = 20;

/** Endpoint at which a publisher receives events. */
export type Endpoint = EndpointSettings & {
  id: number;
  /** {@link EventType} of a default endpoint, or null for all other endpoints. */
  event: string | null;
  /** Event types that the endpoint receives. A default endpoint receives only its own event. */
  events: string[];
  url: string;
  method: Method;
  enabled: boolean;
  /**
   * Reason why the endpoint is disabled, such as `gone` after a 410 response. Null if it is enabled or was disabled
   * manually.
   */
  disabledReason: DisableReason | 'failing' | null;
  /** Time when the endpoint was paused, or null if it is not paused. */
  pausedAt: Date | null;
  /**
   * Maximum number of deliveries per second until the backlog of a pause is delivered, or null if there is no limit.
   */
  resumeRatePerS: number | null;
  createdAt: Date;
  updatedAt: Date;
  secrets: SealedSecrets;
  /** Time until which calls are also signed with the previous secret, or null if it is no longer used. */
  previousSecretUntil: Date | null;
  v1aKeySealed: Buffer | null;
};

type StoredEndpoint = {
  id: number;
  event: string | null;
  events: string[] | null;
  description: string;
  filter: Condition | null;
  url: string;
  method: Method;
  enabled: boolean;
  disabled_reason: Endpoint['disabledReason'];
  paused_at: Date | null;
  resume_rate_per_s: number | null;
  headers: SealedHeaders;
  deadline_ms: number;
  retry_steps_s: number[] | null;
  max_in_flight: number;
  rate_limit_per_s: number | null;
  strict_order: boolean;
  signature_v1a: boolean;
  transformation: Transformation | null;
  created_at: Date;
  updated_at: Date;
  secret_sealed: Buffer;
  previous_secret_sealed: Buffer | null;
  previous_secret_until: Date | null;
  v1a_key_sealed: Buffer | null;
};

/** Columns that {@link endpointOf} reads. */
export const endpointColumns = `e.id, event, events, description, filter, url, method, enabled, disabled_reason,
  paused_at, resume_rate_per_s, headers, deadline_ms, retry_steps_s, max_in_flight, rate_limit_per_s, strict_order,
  signature_v1a, transformation, created_at, updated_at, secret_sealed, v1a_key_sealed,
  case when previous_secret_until > now() then previous_secret_sealed end as previous_secret_sealed,
  case when previous_secret_until > now() then previous_secret_until end as previous_secret_until`;

export type EndpointRow = StoredEndpoint;

export const endpointOf = (row: StoredEndpoint): Endpoint => ({
  id: row.id,
  event: row.event,
  events: row.events ?? (row.event === null ? [] : [row.event]),
  description: row.description,
  filter: row.filter,
  url: row.url,
  method: row.method,
  enabled: row.enabled,
  disabledReason: row.disabled_reason,
  pausedAt: row.paused_at,
  resumeRatePerS: row.resume_rate_per_s,
  headers: row.headers,
  deadlineMs: row.deadline_ms,
  retryStepsS: row.retry_steps_s,
  maxInFlight: row.max_in_flight,
  rateLimitPerS: row.rate_limit_per_s,
  strictOrder: row.strict_order,
  signatureV1a: row.signature_v1a,
  transformation: row.transformation,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  secrets: { current: row.secret_sealed, previous: row.previous_secret_sealed },
  previousSecretUntil: row.previous_secret_until,
  v1aKeySealed: row.v1a_key_sealed,
});

/** Returns the name of the column that contains an endpoint reference. */
export const columnOf = (ref: EndpointRef): 'id' | 'event' => (typeof ref === 'number' ? 'id' : 'event');

/** Returns an endpoint of a publisher, or null if none exists. If `lock` is set, locks its row. */
export async function findEndpoint(
  executor: Executor,
  publisherId: number,
  ref: EndpointRef,
  lock = false,
): Promise<Endpoint | null> {
  const { rows } = await executor.query<StoredEndpoint>(
    `select ${endpointColumns} from webhook_endpoints e
    where publisher_id = $1 and ${columnOf(ref)} = $2 and deleted_at is null ${lock ? 'for update' : ''}`,
    [publisherId, ref],
  );
  return rows[0] === undefined ? null : endpointOf(rows[0]);
}

type Named = { description: string; event: string | null; url: string };

/** Names of the destination kinds in display names. They are not translated. */
const destinationNames = {
  pull: 'Pull',
  nats: 'NATS',
  kafka: 'Kafka',
  sqs: 'SQS',
  eventbridge: 'EventBridge',
  s3: 'S3',
};

/**
 * Returns the display name of an endpoint: its description, otherwise its event, otherwise the host of its URL. For
 * non-HTTP destinations, the host is preceded by the name of the kind.
 */
export function endpointName({ description, event, url }: Named): string {
  if (description !== '' || event !== null) return description || String(event);
  const kind = kindOf(url);
  const { host } = new URL(url);
  if (kind === 'http') return host;
  return kind === 'pull' ? destinationNames.pull : `${destinationNames[kind]} ${host}`;
}

/** Display name and status of an endpoint. */
export type EndpointLabel = {
  name: string;
  status: 'active' | 'paused' | 'disabled' | 'removed';
  /** Whether a consumer pulls the events of the endpoint. */
  isPulled: boolean;
};

/** Returns the labels of a publisher's endpoints by ID, including removed endpoints. */
export async function readEndpointLabels(executor: Executor, publisherId: number): Promise<Map<number, EndpointLabel>> {
  const { rows } = await executor.query<Named & { id: number; status: EndpointLabel['status'] }>(
    `select id, description, event, url,
      case when deleted_at is not null then 'removed' when not enabled then 'disabled'
        when paused_at is not null then 'paused' else 'active' end as status
    from webhook_endpoints where publisher_id = $1 order by id`,
    [publisherId],
  );
  return new Map(
    rows.map((row) => [row.id, { name: endpointName(row), status: row.status, isPulled: kindOf(row.url) === 'pull' }]),
  );
}

/**
 * Failed transformation of an endpoint. `since` is the time of the first failure since the last success. `attempt` is
 * the latest one, or null if it is no longer stored.
 */
export type TransformationError = { since: Date; attempt: FailedAttempt | null };

/** State of an endpoint's calls and deliveries. */
export type EndpointHealth = {
  breakerOpenUntil: Date | null;
  lastSuccessAt: Date | null;
  /** Time since which all calls have failed. Null if the last call succeeded or no calls were made. */
  failingSince: Date | null;
  failures: number;
  /** Whether the endpoint is failing, as defined for the event `endpoint.failing`. */
  failing: boolean;
  /**
   * Last failed attempt, or the one whose response disabled the endpoint. Null if the last call succeeded, or if the
   * attempt is no longer stored.
   */
  lastFailure: FailedAttempt | null;
  /** Error of the last transformation, or null if it succeeded or the endpoint has no transformation. */
  transformationFailure: TransformationError | null;
  /** Number of pending deliveries, counted up to {@link maxCounted}. Held deliveries are counted in the same way. */
  pending: number;
  held: number;
};

/**
 * Number of consecutive failed calls from which an endpoint counts as failing. It also counts as failing while its
 * breaker is open.
 */
export const failingAfterFailures = 3;

/** Returns the SQL condition for a failing endpoint. `row` is a row of `endpoint_health`. */
export const isFailing = (row: string): string =>
  `(${row}.failures >= ${failingAfterFailures} or ${row}.breaker_state = 'open')`;

/** Returns the number of a publisher's failing endpoints. */
export async function countFailing(executor: Executor, publisherId: number): Promise<number> {
  const { rows } = await executor.query<{ count: number }>({
    name: 'count_failing_endpoints',
    text: `select count(*)::int as count from webhook_endpoints e join endpoint_health h on h.endpoint_id = e.id
      where publisher_id = $1 and deleted_at is null and enabled and ${isFailing('h')}`,
    values: [publisherId],
  });
  return rows[0]?.count ?? 0;
}

/** Maximum number of deliveries counted for the state of an endpoint. */
const maxCounted = 10_000;

type HealthRow = {
  breaker_state: string | null;
  open_until: Date | null;
  last_success_at: Date | null;
  first_failure_at: Date | null;
  failures: number | null;
  failing: boolean;
  last_failed_delivery_id: string | null;
  last_failed_generation: number | null;
  transformation_failed_at: Date | null;
  transformation_failed_delivery_id: string | null;
  transformation_failed_generation: number | null;
  pending: number;
  held: number;
};

/** Lists a publisher's endpoints with their state, in creation order. If `ref` is set, lists only that endpoint. */
export async function listEndpoints(
  executor: Executor,
  publisherId: number,
  ref: EndpointRef | null,
): Promise<{ endpoint: Endpoint; health: EndpointHealth }[]> {
  const { rows } = await executor.query<StoredEndpoint & HealthRow>(
    `select ${endpointColumns},
      h.breaker_state, h.open_until, h.last_success_at, h.first_failure_at, h.failures,
      coalesce(${isFailing('h')}, false) as failing, h.last_failed_delivery_id, h.last_failed_generation,
      h.transformation_failed_at, h.transformation_failed_delivery_id, h.transformation_failed_generation,
      (select count(*)::int from (
        select from unnest(array['live', 'redelivery']) as l (lane)
        join delivery_queue q on q.lane = l.lane and q.endpoint_id = e.id
        limit ${maxCounted}
      ) queued) as pending,
      (select count(*)::int from (
        select from deliveries d
        where d.endpoint_id = e.id and d.undelivered and d.status = 'held'
        limit ${maxCounted}
      ) parked) as held
    from webhook_endpoints e
    left join endpoint_health h on h.endpoint_id = e.id
    where publisher_id = $1 and deleted_at is null ${ref === null ? '' : `and ${columnOf(ref)} = $2`}
    order by e.id`,
    ref === null ? [publisherId] : [publisherId, ref],
  );
  const keys = rows.map((row) => failedKeyOf(row, publisherId));
  const transformationKeys = rows.map((row) => transformationKeyOf(row, publisherId));
  const failureOf = await readFailedAttempts(
    executor,
    [...keys, ...transformationKeys].filter((key) => key !== null),
  );
  return rows.map((row, index) => ({
    endpoint: endpointOf(row),
    health: {
      ...healthOf(row),
      lastFailure: failureOf(keys[index] ?? null),
      transformationFailure: row.transformation_failed_at && {
        since: row.transformation_failed_at,
        attempt: failureOf(transformationKeys[index] ?? null),
      },
    },
  }));
}

const failedKeyOf = (row: HealthRow, publisherId: number): AttemptKey | null =>
  row.last_failed_delivery_id === null
    ? null
    : { publisherId, deliveryId: row.last_failed_delivery_id, generation: row.last_failed_generation ?? 0 };

const transformationKeyOf = (row: HealthRow, publisherId: number): AttemptKey | null =>
  row.transformation_failed_delivery_id === null
    ? null
    : {
        publisherId,
        deliveryId: row.transformation_failed_delivery_id,
        generation: row.transformation_failed_generation ?? 0,
      };

const healthOf = (row: HealthRow): Omit<EndpointHealth, 'lastFailure' | 'transformationFailure'> => ({
  breakerOpenUntil: row.breaker_state === 'open' ? row.open_until : null,
  lastSuccessAt: row.last_success_at,
  failingSince: row.first_failure_at,
  failures: row.failures ?? 0,
  failing: row.failing,
  pending: row.pending,
  held: row.held,
});

/** Returns how many of a publisher's enabled endpoints receive each event. */
export async function countReceivers(executor: Executor, publisherId: number): Promise<Map<string, number>> {
  const { rows } = await executor.query<{ event: string; count: number }>(
    `select received as event, count(*)::int as count
    from webhook_endpoints e cross join lateral unnest(coalesce(e.events, array[e.event])) as received
    where publisher_id = $1 and deleted_at is null and enabled group by 1`,
    [publisherId],
  );
  return new Map(rows.map(({ event, count }) => [event, count]));
}

/** Whether a publisher has at least one endpoint. */
export async function firstEndpointRef(executor: Executor, publisherId: number): Promise<string | null> {
  const { rows } = await executor.query<{ ref: string }>(
    `select coalesce(event, id::text) as ref from webhook_endpoints
    where publisher_id = $1 and deleted_at is null order by id limit 1`,
    [publisherId],
  );
  return rows[0]?.ref ?? null;
}

const ofEndpoint = (column: string, context: string): SealedColumn =>
  sealedColumn({ table: 'webhook_endpoints', column, key: ['id'], context: () => context });

/** Encrypted values of custom headers. Each key consists of the endpoint ID and the header name. */
const headers: SealedColumn = {
  name: 'webhook_endpoints.headers',
  context: ([, name]) => headerContext(String(name)),
  read: async (executor, after, limit) => {
    const { rows } = await executor.query<{ id: number; name: string; value: string }>(
      `select e.id, h.key as name, h.value from webhook_endpoints e, jsonb_each_text(e.headers) h
      where $2::integer is null or (e.id, h.key collate "C") > ($2::integer, $3::text)
      order by e.id, h.key collate "C" limit $1`,
      [limit, ...(after ?? [null, null])],
    );
    return rows.map(({ id, name, value }) => ({ key: [id, name], sealed: Buffer.from(value, 'base64') }));
  },
  replace: async (executor, [id, name], from, to) => {
    await executor.query(
      `update webhook_endpoints set headers = jsonb_set(headers, array[$2::text], to_jsonb($4::text))
      where id = $1 and headers ->> $2::text = $3`,
      [id, name, from.toString('base64'), to.toString('base64')],
    );
  },
};

/** Encrypted columns of endpoints: secrets, keys and headers. */
export const sealedEndpointColumns: readonly SealedColumn[] = [
  ofEndpoint('secret_sealed', secretContext),
  ofEndpoint('previous_secret_sealed', secretContext),
  ofEndpoint('v1a_key_sealed', v1aContext),
  ofEndpoint('previous_v1a_key_sealed', v1aContext),
  headers,
];

/** Number of an endpoint's latest deliveries that are read. Events before them have no time. */
export const recentDeliveries = 1000;

/** Time of the latest webhook of an event to an endpoint. */
export type LastSent = { endpoint_id: number; event: string; at: Date };

/** Reads when each event was last sent to each of the endpoints, from the latest deliveries of each endpoint. */
export async function readLastSent(executor: Executor, endpointIds: readonly number[]): Promise<LastSent[]> {
  if (endpointIds.length === 0) return [];
  const { rows } = await executor.query<LastSent>(
    `select e.endpoint_id, recent.event, max(recent.created_at) as at
    from unnest($1::integer[]) as e (endpoint_id) cross join lateral (
      select event, created_at from deliveries d where d.endpoint_id = e.endpoint_id
      order by day desc, id desc limit ${recentDeliveries}
    ) recent group by 1, 2`,
    [endpointIds],
  );
  return rows;
}
