import type { Static } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import type { EndpointInput, EndpointKey } from './changes.ts';
import { readHeaders } from './custom-headers.ts';
import { maxRetryS, type saveBody } from './schemas.ts';
import { openHeaders, sealHeaders } from './secrets.ts';
import type { Endpoint } from './store.ts';

/**
 * The settings of a request body. A header value of null keeps the stored one.
 * @throws AppError `invalid_endpoint` for unusable headers or retry steps
 */
export function readSettings(
  key: EndpointKey,
  body: Static<typeof saveBody>,
  box: SecretBox,
  stored: Endpoint | null,
): EndpointInput {
  const { url, method, enabled, headers, retry_steps_s: steps } = body;
  if (steps) requireUsableSteps(steps);
  return {
    ...key,
    url,
    method,
    enabled,
    ...(headers !== undefined && {
      headers: sealHeaders(box, readHeaders(headers, openHeaders(box, stored?.headers ?? {}))),
    }),
    ...(body.deadline_ms !== undefined && { deadlineMs: body.deadline_ms }),
    ...(steps !== undefined && { retryStepsS: steps }),
    ...(body.max_in_flight !== undefined && { maxInFlight: body.max_in_flight }),
    ...(body.rate_limit_per_s !== undefined && { rateLimitPerS: body.rate_limit_per_s }),
    ...(body.strict_order !== undefined && { strictOrder: body.strict_order }),
    ...(body.signature_v1a !== undefined && { signatureV1a: body.signature_v1a }),
  };
}

function requireUsableSteps(steps: readonly number[]): void {
  const totalS = steps.reduce((sum, step) => sum + step, 0);
  const message =
    steps[0] !== 0
      ? 'must begin with 0: the first attempt is made at once'
      : totalS > maxRetryS
        ? 'must be at most 7 days together'
        : null;
  if (message !== null) throw new AppError('invalid_endpoint', { details: [{ path: '/retry_steps_s', message }] });
}
