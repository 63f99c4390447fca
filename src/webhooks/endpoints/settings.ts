import type { Static } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import type { Endpoint, EndpointSettings } from '../endpoint-store.ts';
import type { EventTypes } from '../events.ts';
import { openHeaders, sealHeaders } from '../signature.ts';
import { requireUsableUrl, type UrlRules } from '../url-rules.ts';
import { readHeaders } from './custom-headers.ts';
import { requireUsableFilter } from './filter.ts';
import { maxRetryS, type saveBody } from './schemas.ts';

type Body = Partial<Static<typeof saveBody>>;

/**
 * Reads the endpoint settings in a request body. A null header value keeps the stored value.
 * @throws AppError `invalid_endpoint` if the URL, headers, retry delays or filter are invalid
 */
export function readSettings<Given extends Body>(
  body: Given,
  { box, stored, rules }: { box: SecretBox; stored: Endpoint | null; rules: UrlRules },
): Pick<Given, 'url' | 'method' | 'enabled'> & Partial<EndpointSettings> {
  const { url, headers, retry_steps_s: steps, filter } = body;
  if (url !== undefined) requireUsableUrl(url, rules);
  if (steps) requireUsableSteps(steps);
  if (filter) requireUsableFilter(filter);
  requireBodyMethod(body, stored);
  const settings = {
    url,
    method: body.method,
    enabled: body.enabled,
    description: body.description,
    filter,
    headers: headers && sealHeaders(box, readHeaders(headers, openHeaders(box, stored?.headers ?? {}))),
    deadlineMs: body.deadline_ms,
    retryStepsS: steps,
    maxInFlight: body.max_in_flight,
    rateLimitPerS: body.rate_limit_per_s,
    strictOrder: body.strict_order,
    signatureV1a: body.signature_v1a,
    transformation: body.transformation,
  };
  const entries = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as ReturnType<typeof readSettings<Given>>;
}

/**
 * Reads the event types in a request body.
 * @throws AppError `invalid_endpoint` for an unknown or repeated event type, or if a default endpoint would receive any
 * event other than its own
 */
export function readEvents(
  names: readonly string[] | undefined,
  eventTypes: EventTypes,
  defaultOf: string | null = null,
): { events?: readonly string[] } {
  if (names === undefined) return {};
  const problemOf = (event: string, index: number): Problem | null => {
    if (!eventTypes.has(event)) return problem('noEvent', { events: [...eventTypes.keys()].join(', ') });
    if (names.indexOf(event) !== index) return problem('twice');
    return defaultOf === null || event === defaultOf ? null : problem('eventNotAdded', { event: defaultOf });
  };
  const details = names.flatMap((event, index) => {
    const message = problemOf(event, index);
    return message === null ? [] : [{ path: `/events/${index}`, message }];
  });
  if (details.length > 0) throw new AppError('invalid_endpoint', { details });
  return { events: names };
}

/** Rejects a transformation of the body for GET calls, which have no body. */
export function requireBodyMethod({ method, transformation }: Body, stored: Endpoint | null): void {
  const after = transformation === undefined ? stored?.transformation : transformation;
  if (after?.body === undefined || (method ?? stored?.method) !== 'GET') return;
  throw new AppError('invalid_endpoint', {
    details: [{ path: '/transformation/body', message: problem('transformationNeedsPost') }],
  });
}

function requireUsableSteps(steps: readonly number[]): void {
  const totalS = steps.reduce((sum, step) => sum + step, 0);
  const message = steps[0] !== 0 ? problem('stepsBegin') : totalS > maxRetryS ? problem('stepsLong') : null;
  if (message !== null) throw new AppError('invalid_endpoint', { details: [{ path: '/retry_steps_s', message }] });
}
