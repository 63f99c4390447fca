import type { SecretBox } from '../../platform/security/secret-box.ts';
import { destinationView, isCustomHeader } from '../destinations/settings.ts';
import { defaultSteps } from '../dispatcher/settle/retry-schedule.ts';
import type { Endpoint, EndpointHealth } from '../endpoint-store.ts';
import { v1aPublicKey } from '../signature.ts';

/** Returns an endpoint in API format, without secrets and without the values of custom headers. */
export const viewOfEndpoint = (endpoint: Endpoint, box: SecretBox) => ({
  ...plainViewOf(endpoint),
  v1a_public_key:
    endpoint.signatureV1a && endpoint.v1aKeySealed !== null ? v1aPublicKey(box, endpoint.v1aKeySealed) : null,
});

/** Returns the same as `viewOfEndpoint`, except for fields that require decryption. */
export const plainViewOf = (endpoint: Endpoint) => ({
  id: endpoint.id,
  event: endpoint.event,
  events: endpoint.events,
  description: endpoint.description,
  filter: endpoint.filter,
  url: endpoint.url,
  destination: destinationView(endpoint),
  method: endpoint.method,
  enabled: endpoint.enabled,
  disabled_reason: endpoint.disabledReason,
  paused_at: textOf(endpoint.pausedAt),
  resume_rate_per_s: endpoint.resumeRatePerS,
  headers: Object.fromEntries(
    Object.keys(endpoint.headers)
      .filter(isCustomHeader)
      .map((name) => [name, null]),
  ),
  deadline_ms: endpoint.deadlineMs,
  retry_steps_s: endpoint.retryStepsS ?? [...defaultSteps],
  max_in_flight: endpoint.maxInFlight,
  rate_limit_per_s: endpoint.rateLimitPerS,
  strict_order: endpoint.strictOrder,
  signature_v1a: endpoint.signatureV1a,
  transformation: endpoint.transformation,
  previous_secret_until: textOf(endpoint.previousSecretUntil),
  created_at: endpoint.createdAt.toISOString(),
  updated_at: endpoint.updatedAt.toISOString(),
});

type Status = 'active' | 'paused' | 'disabled';

/** Returns the state of an endpoint in API format. */
export function viewOfState({ enabled, pausedAt }: Endpoint, health: EndpointHealth) {
  const status: Status = !enabled ? 'disabled' : pausedAt === null ? 'active' : 'paused';
  const breaker: 'open' | 'closed' = health.breakerOpenUntil === null ? 'closed' : 'open';
  return {
    status,
    breaker,
    breaker_open_until: textOf(health.breakerOpenUntil),
    warning: health.failing ? 'failing' : null,
    failing_since: textOf(health.failingSince),
    failures: health.failures,
    last_success_at: textOf(health.lastSuccessAt),
    last_failure: viewOfFailure(health.lastFailure),
    transformation_failure: viewOfTransformationFailure(health.transformationFailure),
    pending: health.pending,
    held: health.held,
  };
}

const viewOfFailure = (failure: EndpointHealth['lastFailure']) =>
  failure && {
    delivery_id: failure.deliveryId,
    at: failure.at.toISOString(),
    status: failure.status,
    error: failure.error,
    first_line: failure.firstLine,
  };

const viewOfTransformationFailure = (failure: EndpointHealth['transformationFailure']) =>
  failure && {
    since: failure.since.toISOString(),
    delivery_id: failure.attempt?.deliveryId ?? null,
    message: failure.attempt?.error?.message ?? null,
  };

const textOf = (time: Date | null): string | null => time?.toISOString() ?? null;
