import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { parkDisabled } from '../dispatcher/claim/park.ts';
import type { Method } from '../dispatcher/send/target-url.ts';
import { wakeWorkers } from '../outbox-channel.ts';
import { createEndpointSecret, createV1aKey } from './secrets.ts';
import {
  type Endpoint,
  type EndpointRow,
  type EndpointSettings,
  endpointColumns,
  endpointOf,
  findEndpoint,
} from './store.ts';

/** Whose endpoint for which event, and when. */
export type EndpointKey = { publisherId: number; event: string; nowMs: number };

/** Settings that are left out stay as they are; those of a new endpoint are the defaults. */
export type EndpointInput = EndpointKey & Partial<EndpointSettings> & { url: string; method: Method; enabled: boolean };

export const defaultSettings: EndpointSettings = {
  headers: {},
  deadlineMs: 15_000,
  retryStepsS: null,
  maxInFlight: 4,
  rateLimitPerS: null,
  strictOrder: false,
  signatureV1a: false,
};

/**
 * Creates a publisher's endpoint for an event, or changes it; a changed one keeps its secret. Enabling it clears the
 * reason why it was disabled; disabling it parks its pending deliveries, which stay held.
 * @returns `secret` (`whsec_…`) only if it was created: it is shown once
 */
export async function saveEndpoint(
  executor: Executor,
  box: SecretBox,
  input: EndpointInput,
): Promise<{ endpoint: Endpoint; secret: string | null }> {
  const { publisherId, event, url, method, enabled, nowMs } = input;
  const before = await findEndpoint(executor, publisherId, event, true);
  const settings: EndpointSettings = { ...defaultSettings, ...before, ...given(input) };
  const { secret, sealed } = createEndpointSecret(box);
  const { rows } = await executor.query<EndpointRow & { created: boolean }>(
    `insert into webhook_endpoints as e (
      publisher_id, event, url, method, enabled, secret_sealed, created_at, updated_at, headers, deadline_ms,
      retry_steps_s, max_in_flight, rate_limit_per_s, strict_order, signature_v1a, v1a_key_sealed
    )
    values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $11, $12, $13, $14, $15)
    on conflict (publisher_id, event) do update set
      url = excluded.url, method = excluded.method, enabled = excluded.enabled,
      disabled_reason = case when not excluded.enabled then e.disabled_reason end,
      updated_at = excluded.updated_at, headers = excluded.headers, deadline_ms = excluded.deadline_ms,
      retry_steps_s = excluded.retry_steps_s, max_in_flight = excluded.max_in_flight,
      rate_limit_per_s = excluded.rate_limit_per_s, strict_order = excluded.strict_order,
      signature_v1a = excluded.signature_v1a, v1a_key_sealed = coalesce(e.v1a_key_sealed, excluded.v1a_key_sealed)
    where e.deleted_at is null
    returning ${endpointColumns}, e.xmax = 0 as created`,
    [
      publisherId,
      event,
      url,
      method,
      enabled,
      sealed,
      new Date(nowMs),
      settings.headers,
      settings.deadlineMs,
      settings.retryStepsS,
      settings.maxInFlight,
      settings.rateLimitPerS,
      settings.strictOrder,
      settings.signatureV1a,
      settings.signatureV1a ? createV1aKey(box).sealed : null,
    ],
  );
  const [row] = rows;
  if (row === undefined) return reviveEndpoint(executor, box, input);
  if (!enabled) await parkDisabled(executor);
  return { endpoint: endpointOf(row), secret: row.created ? secret : null };
}

const given = (input: Partial<EndpointSettings>): Partial<EndpointSettings> =>
  Object.fromEntries(
    Object.keys(defaultSettings).flatMap((name) =>
      name in input ? [[name, input[name as keyof EndpointSettings]]] : [],
    ),
  );

/**
 * A removed endpoint that is set again is a new one: with another secret and default settings. Its held deliveries can
 * be redelivered.
 */
async function reviveEndpoint(executor: Executor, box: SecretBox, input: EndpointInput) {
  const { secret, sealed } = createEndpointSecret(box);
  const { rowCount } = await executor.query(
    `update webhook_endpoints set deleted_at = null, created_at = $4,
      secret_sealed = $3, previous_secret_until = null, previous_secret_sealed = null,
      v1a_key_sealed = null, previous_v1a_key_sealed = null, signature_v1a = false,
      headers = '{}', retry_steps_s = null, rate_limit_per_s = null, deadline_ms = $5, max_in_flight = $6,
      strict_order = false, paused_at = null, resume_rate_per_s = null, disabled_reason = null
    where publisher_id = $1 and event = $2 and deleted_at is not null`,
    [
      input.publisherId,
      input.event,
      sealed,
      new Date(input.nowMs),
      defaultSettings.deadlineMs,
      defaultSettings.maxInFlight,
    ],
  );
  const { endpoint } = await saveEndpoint(executor, box, input);
  // Where a concurrent call was faster, its secret is the valid one.
  return { endpoint, secret: rowCount === 1 ? secret : null };
}

/**
 * Removes an endpoint: it gets no new deliveries, and its pending ones are held.
 * @throws AppError `endpoint_not_found`
 */
export async function removeEndpoint(executor: Executor, key: EndpointKey): Promise<void> {
  await change(executor, key, 'enabled = false, deleted_at = $3');
  await parkDisabled(executor);
}

/**
 * Enabling clears the reason why it was disabled; disabling parks the pending deliveries, which stay held.
 * @throws AppError `endpoint_not_found`
 */
export async function enableEndpoint(executor: Executor, key: EndpointKey, enabled: boolean): Promise<Endpoint> {
  const set = enabled ? 'enabled = true, disabled_reason = null' : 'enabled = false';
  const endpoint = await change(executor, key, set);
  if (!enabled) await parkDisabled(executor);
  return endpoint;
}

/**
 * Keeps deliveries in the queue until the endpoint is resumed. Pausing twice keeps the first time.
 * @throws AppError `endpoint_not_found`
 */
export const pauseEndpoint = (executor: Executor, key: EndpointKey): Promise<Endpoint> =>
  change(executor, key, 'paused_at = coalesce(paused_at, $3), resume_rate_per_s = null');

/**
 * Ends a pause.
 * @param ratePerS deliveries a second until the backlog is delivered; null: no limit
 * @throws AppError `endpoint_not_found`
 */
export async function resumeEndpoint(executor: Executor, key: EndpointKey, ratePerS: number | null): Promise<Endpoint> {
  const endpoint = await change(executor, key, 'paused_at = null, resume_rate_per_s = $4', [ratePerS]);
  await wakeWorkers(executor);
  return endpoint;
}

/**
 * Gives an endpoint a new secret. The previous one signs too for `overlapS` seconds; an older one ends now.
 * @returns the secret, shown once
 * @throws AppError `endpoint_not_found`
 */
export async function rotateSecret(
  executor: Executor,
  box: SecretBox,
  key: EndpointKey,
  overlapS: number,
): Promise<{ endpoint: Endpoint; secret: string }> {
  const { secret, sealed } = createEndpointSecret(box);
  const v1aKey = createV1aKey(box);
  const endpoint = await change(
    executor,
    key,
    `previous_secret_sealed = secret_sealed, secret_sealed = $4,
      previous_secret_until = now() + $5 * interval '1 second', previous_v1a_key_sealed = v1a_key_sealed,
      v1a_key_sealed = case when signature_v1a then $6::bytea end`,
    [sealed, overlapS, v1aKey.sealed],
  );
  return { endpoint, secret };
}

/** Sends every endpoint whose URL matches a regular expression of PostgreSQL to another URL. */
export async function redirectEndpoints(executor: Executor, pattern: string, url: string): Promise<void> {
  await executor.query('update webhook_endpoints set url = $2 where url ~ $1', [pattern, url]);
}

/** Changes one endpoint. `set` is SQL over the columns; $3 is the time, $4 and on are `values`. */
async function change(
  executor: Executor,
  { publisherId, event, nowMs }: EndpointKey,
  set: string,
  values: unknown[] = [],
): Promise<Endpoint> {
  const { rows } = await executor.query<EndpointRow>(
    `update webhook_endpoints e set ${set}, updated_at = $3::timestamptz
    where publisher_id = $1 and event = $2 and deleted_at is null returning ${endpointColumns}`,
    [publisherId, event, new Date(nowMs), ...values],
  );
  if (rows[0] === undefined) throw new AppError('endpoint_not_found');
  return endpointOf(rows[0]);
}
