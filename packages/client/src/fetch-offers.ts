import { InvalidParameterError, ServerError } from './errors.ts';
import { exchange, type TransportOptions, userAgentHeader } from './http.ts';
import { isRecord, parseJson, type UserPayload } from './payload.ts';
import type { FetchOffersResponse } from './response.ts';
import { splitUrl } from './url.ts';

export type FetchOffersOptions = TransportOptions &
  ({ sdkId: string; apiKey?: never } | { apiKey: string; sdkId?: never }) & {
    /** Base URL of the service, such as `https://offers.example`. */
    baseUrl: string;
    payload: UserPayload & { placement: string };
    /** Incentive offers: "0" without, "1" with, "2" only. */
    loyaltyboost?: '0' | '1' | '2';
    /** "1": only offers with an image. */
    creative?: '0' | '1';
    /** Only the offer of this campaign. */
    campaignId?: string | number;
    /** Development mode: test responses, nothing is recorded. */
    dev?: boolean;
    /** The device's user agent, sent when the payload has no `ua`. */
    userAgent?: string;
  };

/**
 * Fetches offers (docs/interface.md#fetch-offers).
 * @throws InvalidParameterError before anything is sent; ServerError for a status outside 200–299 or a body that is not
 * a JSON object; ConnectionError when the request did not complete
 */
export async function fetchOffers(options: FetchOffersOptions): Promise<FetchOffersResponse> {
  const url = offersUrl(options);
  const { payload } = options;
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...userAgentHeader(payload.ua || options.userAgent),
  };
  // A followed redirect would turn the POST into a GET; unfollowed, it becomes a ServerError with its status.
  const response = await exchange(
    url,
    { method: 'POST', headers, body: requestBody(options), redirect: 'manual' },
    options,
  );
  if (response.status < 200 || response.status >= 300) throw serverError(response.status, response.text);
  const body = parseJson(response.text);
  if (!isRecord(body)) throw new ServerError(response.status, 'invalid_body', 'the body is not a JSON object.');
  return body as FetchOffersResponse;
}

function offersUrl(options: FetchOffersOptions): string {
  const { baseUrl, loyaltyboost, creative, campaignId } = options;
  const base = splitUrl(baseUrl);
  if (base === null || !/^https?$/.test(base.scheme) || base.query !== '')
    throw new InvalidParameterError('baseUrl', 'must be an http or https URL without a query');
  requireOneOf('loyaltyboost', loyaltyboost, ['0', '1', '2']);
  requireOneOf('creative', creative, ['0', '1']);
  const query = Object.entries({ api_key: keyOf(options), loyaltyboost, creative, campaignId })
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `${base.scheme}://${base.authority}${base.path}/native/v4/offers.json?${query.join('&')}`;
}

function keyOf({ sdkId, apiKey }: FetchOffersOptions): string {
  const key = sdkId ?? apiKey;
  if (typeof key !== 'string' || key === '') throw new InvalidParameterError('sdkId', 'or apiKey is required');
  return key;
}

function requireOneOf(parameter: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || value === null || allowed.includes(value as string)) return;
  throw new InvalidParameterError(
    parameter,
    `must be one of the strings ${allowed.map((option) => `"${option}"`).join(', ')}`,
  );
}

function requestBody({ dev, payload }: FetchOffersOptions): string {
  if (!isRecord(payload)) throw new InvalidParameterError('payload', 'must be an object');
  try {
    return JSON.stringify({ ...(dev === true ? { dev: '1' } : {}), ...payload });
  } catch {
    throw new InvalidParameterError('payload', 'must be JSON');
  }
}

function serverError(status: number, text: string): ServerError {
  const body = parseJson(text);
  const error = isRecord(body) && isRecord(body.error) ? body.error : {};
  const code = typeof error.code === 'string' ? error.code : null;
  return new ServerError(status, code, typeof error.message === 'string' ? error.message : '');
}
