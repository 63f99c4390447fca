import type { Static } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { kindOf, pullUrl } from '../destinations/kinds.ts';
import { type DestinationInput, isCustomHeader, readDestination } from '../destinations/settings.ts';
import type { Endpoint, EndpointSettings } from '../endpoint-store.ts';
import type { EventTypes } from '../events.ts';
import { openHeaders, type SealedHeaders, sealHeaders } from '../signature.ts';
import type { Transformation } from '../transformations/evaluators.ts';
import { invalidUrl, requireUsableUrl, type UrlRules } from '../url-rules.ts';
import { readHeaders } from './custom-headers.ts';
import { requireUsableFilter } from './filter.ts';
import { maxRetryS, type saveBody } from './schemas.ts';

type Body = Partial<Static<typeof saveBody>> & { destination?: DestinationInput };
/** URL of the settings. It is always set if the body must have one. */
type UrlOf<Given> = Given extends { url: string } ? { url: string } : { url?: string };
type Reading = { box: SecretBox; stored: Endpoint | null; rules: UrlRules };

/**
 * Reads the endpoint settings in a request body. A null header value keeps the stored value.
 * @throws AppError `invalid_endpoint` if the URL, headers, retry delays or filter are invalid
 */
export function readSettings<Given extends Body>(
  body: Given,
  reading: Reading,
): Pick<Given, 'method' | 'enabled'> & UrlOf<Given> & Partial<EndpointSettings> {
  const { retry_steps_s: steps, filter } = body;
  const { url, headers } = readTarget(body, reading);
  if (steps) requireUsableSteps(steps);
  if (filter) requireUsableFilter(filter);
  const isPulled = (url ?? reading.stored?.url) === pullUrl;
  if (isPulled && body.transformation) throw invalidSetting(pathOf(body.transformation), problem('pullTransformation'));
  requireBodyMethod(body, reading.stored);
  const settings = {
    url,
    method: body.method,
    enabled: body.enabled,
    description: body.description,
    filter,
    headers,
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

/** Reads the URL or the destination of an endpoint, and its headers, which include the secrets of a destination. */
function readTarget(body: Body, reading: Reading): { url?: string; headers?: SealedHeaders } {
  const { box, stored, rules } = reading;
  const input = body.destination?.kind === 'http' && isHttp(stored) ? undefined : body.destination;
  const destination = input && readDestination(input, reading);
  const isOther = destination !== undefined || !isHttp(stored);
  if (isOther && body.url !== undefined) throw invalidUrl(problem('urlOfDestination'));
  if (isOther && body.method === 'GET') throw invalidSetting('/method', problem('postOnly'));
  if (body.url !== undefined) requireUsableUrl(body.url, rules);
  const storedHeaders = stored?.headers ?? {};
  const custom = body.headers && sealHeaders(box, readHeaders(body.headers, openHeaders(box, storedHeaders)));
  const url = destination?.url ?? body.url;
  const isPulled = (url ?? stored?.url) === pullUrl;
  if (isPulled && Object.keys(custom ?? {}).length > 0) throw invalidSetting('/headers', problem('pullHeaders'));
  if (stored === null && url === undefined) throw invalidUrl(problem('urlAbsolute'));
  if (custom === undefined && destination === undefined) return url === undefined ? {} : { url };
  const isSecret = (name: string): boolean => !isCustomHeader(name);
  const headers = {
    ...(custom ?? pick(storedHeaders, isCustomHeader)),
    ...(destination?.headers ?? pick(storedHeaders, isSecret)),
  };
  return url === undefined ? { headers } : { url, headers };
}

const isHttp = (stored: Endpoint | null): boolean => stored === null || kindOf(stored.url) === 'http';

const pick = (headers: SealedHeaders, isPicked: (name: string) => boolean): SealedHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => isPicked(name)));

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

/** Returns the path of the first expression in a transformation. */
const pathOf = (transformation: Transformation): string => `/transformation/${Object.keys(transformation)[0] ?? ''}`;

/** Rejects a transformation of the body for GET calls, which have no body. */
function requireBodyMethod({ method, transformation }: Body, stored: Endpoint | null): void {
  const after = transformation === undefined ? stored?.transformation : transformation;
  if (after?.body === undefined || (method ?? stored?.method) !== 'GET') return;
  throw invalidSetting('/transformation/body', problem('transformationNeedsPost'));
}

function requireUsableSteps(steps: readonly number[]): void {
  const totalS = steps.reduce((sum, step) => sum + step, 0);
  const message = steps[0] !== 0 ? problem('stepsBegin') : totalS > maxRetryS ? problem('stepsLong') : null;
  if (message !== null) throw invalidSetting('/retry_steps_s', message);
}

const invalidSetting = (path: string, message: Problem): AppError =>
  new AppError('invalid_endpoint', { details: [{ path, message }] });
