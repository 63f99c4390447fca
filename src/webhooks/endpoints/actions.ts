import type { Executor } from '../../platform/db/pool.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { parkDisabled } from '../dispatcher/claim/park.ts';
import { changeStored, type EndpointKey } from '../endpoint-changes.ts';
import { type Endpoint, findEndpoint } from '../endpoint-store.ts';
import { wakeWorkers } from '../outbox.ts';
import { createEndpointSecret, createV1aKey } from '../signature.ts';

/**
 * Enables or disables an endpoint. Enabling it clears the reason why it was disabled. Disabling it parks its pending
 * deliveries, which stay held even if it is enabled again.
 * @throws AppError `endpoint_not_found`
 */
export async function enableEndpoint(executor: Executor, key: EndpointKey, enabled: boolean): Promise<Endpoint> {
  const set = enabled ? 'enabled = true, disabled_reason = null' : 'enabled = false';
  const endpoint = await changeStored(executor, key, set);
  if (!enabled) await parkDisabled(executor);
  return endpoint;
}

/**
 * Pauses an endpoint. Its deliveries stay in the queue until it is resumed. If it is already paused, the time of the
 * first pause is kept.
 * @throws AppError `endpoint_not_found`
 */
export const pauseEndpoint = (executor: Executor, key: EndpointKey): Promise<Endpoint> =>
  changeStored(executor, key, 'paused_at = coalesce(paused_at, $3), resume_rate_per_s = null');

/**
 * Resumes a paused endpoint. If it was failing before the pause, the time for which it has been failing starts anew,
 * because no call could have succeeded during the pause.
 * @param ratePerS maximum number of deliveries per second until the backlog is delivered, or null for no limit
 * @throws AppError `endpoint_not_found`
 */
export async function resumeEndpoint(executor: Executor, key: EndpointKey, ratePerS: number | null): Promise<Endpoint> {
  const stored = await findEndpoint(executor, key.publisherId, key.ref, true);
  const endpoint = await changeStored(executor, key, 'paused_at = null, resume_rate_per_s = $4', [ratePerS]);
  if (stored !== null && stored.pausedAt !== null)
    await executor.query(
      `update endpoint_health set first_failure_at = now(), warned_at = null
      where endpoint_id = $1 and first_failure_at is not null`,
      [endpoint.id],
    );
  await wakeWorkers(executor);
  return endpoint;
}

/**
 * Generates a new secret for an endpoint. For another `overlapS` seconds, calls are also signed with the previous
 * secret. Any older secret becomes invalid immediately.
 * @returns the new secret, which is shown only once
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
  const endpoint = await changeStored(
    executor,
    key,
    `previous_secret_sealed = secret_sealed, secret_sealed = $4,
      previous_secret_until = now() + $5 * interval '1 second', previous_v1a_key_sealed = v1a_key_sealed,
      v1a_key_sealed = case when signature_v1a then $6::bytea end`,
    [sealed, overlapS, v1aKey.sealed],
  );
  return { endpoint, secret };
}
