import { isDeepStrictEqual } from 'node:util';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { kindOf, pullUrl } from './destinations/kinds.ts';
import { parkDisabled } from './dispatcher/claim/park.ts';
import type { Method } from './dispatcher/send/request.ts';
import {
  columnOf,
  type Endpoint,
  type EndpointRef,
  type EndpointRow,
  type EndpointSettings,
  endpointColumns,
  endpointOf,
  findEndpoint,
  maxEndpoints,
} from './endpoint-store.ts';
import { markListener } from './listen/listeners.ts';
import { startPull } from './pull/events.ts';
import { createEndpointSecret, createV1aKey } from './signature.ts';

/** Reference to an endpoint of a publisher, with the time of the change. */
export type EndpointKey = { publisherId: number; ref: EndpointRef; nowMs: number };

/** Endpoint fields that can be set. */
export type EndpointFields = EndpointSettings & { url: string; method: Method; enabled: boolean };

/**
 * Input for creating or changing an endpoint. Omitted settings stay unchanged, or get their default value if the
 * endpoint is new.
 */
export type EndpointInput = Partial<EndpointSettings> & { url: string; method: Method; enabled: boolean };

/** Endpoint after saving. `secret` (`whsec_…`) is set only for a new endpoint and is shown only once. */
export type Saved = { endpoint: Endpoint; secret: string | null };

export const defaultSettings: EndpointSettings = {
  description: '',
  filter: null,
  headers: {},
  deadlineMs: 15_000,
  retryStepsS: null,
  maxInFlight: 4,
  rateLimitPerS: null,
  strictOrder: false,
  signatureV1a: false,
  transformation: null,
};

/**
 * Creates or updates the default endpoint of an event. An existing endpoint keeps its secret.
 * @throws AppError `too_many_endpoints`
 */
export async function saveEndpoint(
  executor: Executor,
  box: SecretBox,
  { publisherId, event, nowMs, ...input }: EndpointInput & { publisherId: number; event: string; nowMs: number },
): Promise<Saved> {
  const key = { publisherId, ref: event, nowMs };
  const stored = await findEndpoint(executor, publisherId, event, true);
  const inserted =
    stored === null ? await insertEndpoint(executor, box, { ...input, publisherId, event, events: null, nowMs }) : null;
  if (inserted !== null) return inserted;
  // A concurrent request has already created the endpoint, so its secret is the valid one, and this request only
  // updates the endpoint.
  return { endpoint: await updateEndpoint(executor, box, key, input), secret: null };
}

/**
 * Creates an endpoint that receives a list of event types.
 * @throws AppError `too_many_endpoints`
 */
export async function addEndpoint(
  executor: Executor,
  box: SecretBox,
  input: EndpointInput & { publisherId: number; events: readonly string[]; nowMs: number },
): Promise<Saved> {
  const saved = await insertEndpoint(executor, box, { ...input, event: null });
  if (saved === null) throw new Error('an endpoint without an event was not inserted');
  if (kindOf(input.url) !== 'http') await markListener(executor, saved.endpoint.id);
  if (input.url === pullUrl) await startPull(executor, saved.endpoint.id);
  return saved;
}

type NewEndpoint = EndpointInput & {
  publisherId: number;
  event: string | null;
  events: readonly string[] | null;
  nowMs: number;
};

/**
 * Inserts an endpoint. A default endpoint that was removed earlier becomes a new endpoint, with a different secret and
 * default settings. The removed endpoint's held deliveries can then be redelivered.
 * @returns null if the event already has a default endpoint
 */
async function insertEndpoint(
  executor: Executor,
  box: SecretBox,
  { publisherId, event, events, nowMs, ...input }: NewEndpoint,
): Promise<Saved | null> {
  const { secret, sealed } = createEndpointSecret(box);
  const settings: EndpointFields = { ...defaultSettings, ...input };
  const { rows } = await executor.query<EndpointRow>(
    `insert into webhook_endpoints as e (
      publisher_id, event, events, secret_sealed, created_at, updated_at, ${fieldColumns.join(', ')}, v1a_key_sealed
    )
    select $1, $2, $3, $4, $5::timestamptz, $5::timestamptz,
      ${[...fieldColumns, 'v1a_key_sealed'].map((_, index) => `$${index + 6}`).join(', ')}
    where (select count(*) from webhook_endpoints where publisher_id = $1 and deleted_at is null) < ${maxEndpoints}
    on conflict (publisher_id, event) do update set
      ${['secret_sealed', 'created_at', 'updated_at', ...fieldColumns, 'v1a_key_sealed']
        .map((name) => `${name} = excluded.${name}`)
        .join(', ')},
      previous_secret_until = null, previous_secret_sealed = null, previous_v1a_key_sealed = null,
      deleted_at = null, paused_at = null, resume_rate_per_s = null, disabled_reason = null
    where e.deleted_at is not null
    returning ${endpointColumns}`,
    [
      publisherId,
      event,
      events,
      sealed,
      new Date(nowMs),
      ...valuesOf(settings),
      settings.signatureV1a ? createV1aKey(box).sealed : null,
    ],
  );
  if (rows[0] !== undefined) return { endpoint: endpointOf(rows[0]), secret };
  if (event !== null && (await findEndpoint(executor, publisherId, event)) !== null) return null;
  throw new AppError('too_many_endpoints');
}

const fieldColumns = [
  ...['url', 'method', 'enabled', 'description', 'filter', 'headers', 'deadline_ms', 'retry_steps_s', 'max_in_flight'],
  ...['rate_limit_per_s', 'strict_order', 'signature_v1a', 'transformation'],
];

const valuesOf = (fields: EndpointFields): unknown[] => [
  fields.url,
  fields.method,
  fields.enabled,
  fields.description,
  fields.filter === null ? null : JSON.stringify(fields.filter),
  fields.headers,
  fields.deadlineMs,
  fields.retryStepsS,
  fields.maxInFlight,
  fields.rateLimitPerS,
  fields.strictOrder,
  fields.signatureV1a,
  fields.transformation === null ? null : JSON.stringify(fields.transformation),
];

/**
 * Updates the given fields. Enabling the endpoint clears the reason why it was disabled. Disabling it parks its pending
 * deliveries, which stay held even if it is enabled again.
 * @param events not allowed for a default endpoint
 * @throws AppError `endpoint_not_found`
 */
export async function updateEndpoint(
  executor: Executor,
  box: SecretBox,
  key: EndpointKey,
  { events, ...input }: Partial<EndpointFields> & { events?: readonly string[] },
): Promise<Endpoint> {
  const stored = await findEndpoint(executor, key.publisherId, key.ref, true);
  if (stored === null) throw new AppError('endpoint_not_found');
  const fields: EndpointFields = { ...stored, ...input };
  const first = 4;
  const set = [
    ...fieldColumns.map((name, index) => `${name} = $${index + first}`),
    `disabled_reason = case when not $${first + 2}::boolean then e.disabled_reason end`,
    `v1a_key_sealed = coalesce(e.v1a_key_sealed, $${first + fieldColumns.length})`,
    `events = case when e.event is null then coalesce($${first + fieldColumns.length + 1}, e.events) end`,
  ];
  const endpoint = await changeStored(executor, key, set.join(', '), [
    ...valuesOf(fields),
    fields.signatureV1a ? createV1aKey(box).sealed : null,
    events ?? null,
  ]);
  if (!isDeepStrictEqual(fields.transformation, stored.transformation)) await forgetFailure(executor, endpoint.id);
  if (fields.strictOrder && !stored.strictOrder) await forgetWait(executor, endpoint.id);
  if (!fields.enabled) await parkDisabled(executor);
  return endpoint;
}

/** Removes the error of a transformation that has been changed. */
const forgetFailure = (executor: Executor, endpointId: number) =>
  executor.query(
    `update endpoint_health set transformation_failed_at = null, transformation_failed_delivery_id = null,
      transformation_failed_generation = null
    where endpoint_id = $1 and transformation_failed_at is not null`,
    [endpointId],
  );

/** Ends the wait of an endpoint with strict order, because the delivery that it is waiting for may no longer exist. */
const forgetWait = (executor: Executor, endpointId: number) =>
  executor.query('update endpoint_health set not_before = null where endpoint_id = $1 and not_before is not null', [
    endpointId,
  ]);

/**
 * Removes an endpoint. It receives no new deliveries, and its pending deliveries are held.
 * @throws AppError `endpoint_not_found`
 */
export async function removeEndpoint(executor: Executor, key: EndpointKey): Promise<Endpoint> {
  const removed = await changeStored(executor, key, 'enabled = false, deleted_at = $3');
  await parkDisabled(executor);
  return removed;
}

/** Returns the URLs of all endpoints that match a PostgreSQL regular expression. */
export async function endpointUrls(executor: Executor, pattern: string): Promise<string[]> {
  const { rows } = await executor.query<{ url: string }>('select distinct url from webhook_endpoints where url ~ $1', [
    pattern,
  ]);
  return rows.map(({ url }) => url);
}

/** Changes the URL of every endpoint whose current URL matches a PostgreSQL regular expression. */
export async function redirectEndpoints(executor: Executor, pattern: string, url: string): Promise<void> {
  await executor.query('update webhook_endpoints set url = $2 where url ~ $1', [pattern, url]);
}

/**
 * Removes duplicate endpoints that were created by a program. These are unchanged endpoints of a publisher with the
 * same URL and description, created within 10 seconds of each other.
 */
export async function removeEndpointBursts(
  executor: Executor,
  { url, description, nowMs }: { url: string; description: string; nowMs: number },
): Promise<void> {
  const { rowCount } = await executor.query(
    `update webhook_endpoints e set enabled = false, deleted_at = $3, updated_at = $3
    where url = $1 and description = $2 and deleted_at is null and updated_at = created_at and exists (
      select from webhook_endpoints o
      where o.publisher_id = e.publisher_id and o.id <> e.id and o.url = $1 and o.description = $2
        and o.created_at between e.created_at - interval '10 seconds' and e.created_at + interval '10 seconds')`,
    [url, description, new Date(nowMs)],
  );
  if (rowCount !== 0) await parkDisabled(executor);
}

/**
 * Updates the stored row of an endpoint.
 * @param set SQL that sets the columns; $3 is the time of the change
 * @param values parameters of `set`, starting at $4
 * @throws AppError `endpoint_not_found`
 */
export async function changeStored(
  executor: Executor,
  { publisherId, ref, nowMs }: EndpointKey,
  set: string,
  values: unknown[] = [],
): Promise<Endpoint> {
  const { rows } = await executor.query<EndpointRow>(
    `update webhook_endpoints e set ${set}, updated_at = $3::timestamptz
    where publisher_id = $1 and ${columnOf(ref)} = $2 and deleted_at is null returning ${endpointColumns}`,
    [publisherId, ref, new Date(nowMs), ...values],
  );
  if (rows[0] === undefined) throw new AppError('endpoint_not_found');
  return endpointOf(rows[0]);
}
