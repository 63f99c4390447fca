import { ServerError } from './errors.ts';
import { exchange, type TransportOptions, userAgentHeader } from './http.ts';

export type FireBeaconOptions = TransportOptions & {
  /** User agent of the end user. Set it if a server fires beacons on the user's behalf. */
  userAgent?: string;
  /** Random number generator that returns a number from 0 (inclusive) to 1 (exclusive). Default: `Math.random`. */
  random?: () => number;
};

/** Replaces the `{cbuster}` tokens in a URL with a random value. The tokens may be percent-encoded. */
export const fillCacheBuster = (url: string, random: () => number = Math.random): string =>
  url.replace(/%7Bcbuster%7D|\{cbuster\}/gi, () => random().toString(36).slice(2, 14) || '0');

/**
 * Fires an offer beacon (docs/reference/tracking-and-conversions.md#tracking-urls). Resolves once the server has
 * recorded it. An empty URL, such as an absent `adv_pixel_url`, is ignored. It is safe to fire a beacon repeatedly,
 * because the server counts it only once.
 * @throws ServerError, ConnectionError
 */
export async function fireBeacon(
  url: string,
  { userAgent, random, ...transport }: FireBeaconOptions = {},
): Promise<void> {
  if (url === '') return;
  const init = { method: 'GET', headers: userAgentHeader(userAgent), redirect: 'follow' } as const;
  const { status } = await exchange(fillCacheBuster(url, random), init, transport);
  if (status < 200 || status >= 300) throw new ServerError(status, null, '');
}
