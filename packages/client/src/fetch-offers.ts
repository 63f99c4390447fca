import { InvalidParameterError, ServerError } from './errors.ts';
import { exchange, type TransportOptions, userAgentHeader } from './http.ts';
import { isRecord, parseJson, type UserPayload } from './payload.ts';
import type { FetchOffersResponse, FetchPlacementsResponse } from './response.ts';
import { splitUrl } from './url.ts';

/** Options shared by all calls that fetch or count offers. */
type CallOptions = TransportOptions &
  ({ sdkId: string; apiKey?: never } | { apiKey: string; sdkId?: never }) & {
    /** Base URL of the service, such as `https://offers.example`. */
    baseUrl: string;
    /** Incentive offers: "0" excludes them, "1" includes them, "2" returns only incentive offers. */
    loyaltyboost?: '0' | '1' | '2';
    /** "1" returns only offers that have an image. */
    creative?: '0' | '1';
    /** Campaign ID. If set, only this campaign's offer is returned. */
    campaignId?: string | number;
    /** Development mode: returns test responses and records nothing. */
    dev?: boolean;
    /** User agent of the device. Sent only if the payload has no `ua`. */
    userAgent?: string;
  };

export type FetchOffersOptions = CallOptions & { payload: UserPayload & { placement: string } };

/** One placement in a call for several placements (docs/reference/fetch-offers.md#multiple-placements). */
export type PlacementRequest = {
  name: string;
  /** Maximum number of offers in this placement, 1–10. Defaults to the placement's settings. */
  count?: number;
  /** Theme ID or key. */
  theme_id?: string | number;
};

/**
 * Options for a call with several placements. `placements` contains 1 to 10 placements, which are filled in the given
 * order.
 */
export type FetchPlacementsOptions = CallOptions & { payload?: UserPayload; placements: PlacementRequest[] };

/**
 * Fetches offers (docs/reference/fetch-offers.md#request).
 * @throws InvalidParameterError before anything is sent; ServerError for a status outside 200–299 or a body that is not
 * a JSON object; ConnectionError if the request did not complete
 */
export const fetchOffers = (options: FetchOffersOptions): Promise<FetchOffersResponse> =>
  call<FetchOffersResponse>(options, options.payload);

/**
 * Fetches offers for several placements on a page in one call. No offer is returned twice
 * (docs/reference/fetch-offers.md#multiple-placements).
 * @throws the same errors as `fetchOffers`
 */
export const fetchPlacements = (options: FetchPlacementsOptions): Promise<FetchPlacementsResponse> =>
  call<FetchPlacementsResponse>(options, { ...options.payload, placements: options.placements });

/**
 * Returns the number of offers that `fetchOffers` would return now (docs/reference/fetch-offers.md#count-offers).
 * @throws the same errors as `fetchOffers`
 */
export const countOffers = async (options: FetchOffersOptions): Promise<number> =>
  (await call<{ data: { count: number } }>(options, options.payload, 'any.json')).data.count;

/**
 * Counts the available offers per placement, like `countOffers`. The counts are in the same order as the placements.
 */
export const countPlacements = async (options: FetchPlacementsOptions): Promise<number[]> =>
  (
    await call<{ data: { placements: { count: number }[] } }>(
      options,
      { ...options.payload, placements: options.placements },
      'any.json',
    )
  ).data.placements.map(({ count }) => count);

async function call<Response>(
  options: CallOptions,
  payload: UserPayload,
  resource: 'offers.json' | 'any.json' = 'offers.json',
): Promise<Response> {
  const url = resourceUrl(options, resource);
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...userAgentHeader(payload.ua || options.userAgent),
  };
  // Do not follow redirects, because that would turn the POST into a GET. A redirect response results in a ServerError
  // instead.
  const response = await exchange(
    url,
    { method: 'POST', headers, body: requestBody(options, payload), redirect: 'manual' },
    options,
  );
  if (response.status < 200 || response.status >= 300) throw serverError(response.status, response.text);
  const body = parseJson(response.text);
  if (!isRecord(body)) throw new ServerError(response.status, 'invalid_body', 'the body is not a JSON object.');
  return body as Response;
}

function resourceUrl(options: CallOptions, resource: string): string {
  const { baseUrl, loyaltyboost, creative, campaignId } = options;
  const base = splitUrl(baseUrl);
  if (base === null || !/^https?$/.test(base.scheme) || base.query !== '')
    throw new InvalidParameterError('baseUrl', 'must be an http or https URL without a query');
  requireOneOf('loyaltyboost', loyaltyboost, ['0', '1', '2']);
  requireOneOf('creative', creative, ['0', '1']);
  const query = Object.entries({ api_key: keyOf(options), loyaltyboost, creative, campaignId })
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `${base.scheme}://${base.authority}${base.path}/native/v4/${resource}?${query.join('&')}`;
}

function keyOf({ sdkId, apiKey }: CallOptions): string {
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

function requestBody({ dev }: CallOptions, payload: UserPayload): string {
  if (!isRecord(payload)) throw new InvalidParameterError('payload', 'must be an object');
  try {
    // Treat an undefined `dev` as absent.
    return JSON.stringify({ ...payload, ...(dev === true && payload.dev === undefined ? { dev: '1' } : {}) });
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
