import { ServerError } from './errors.ts';
import { exchange, type TransportOptions, userAgentHeader } from './http.ts';

export type FireBeaconOptions = TransportOptions & {
  /** End user's user agent, for a server that fires beacons on behalf of a user. */
  userAgent?: string;
  /** Returns a number from 0 to less than 1. Default `Math.random`. */
  random?: () => number;
};

/** Returns the URL with a random value for its `{cbuster}` tokens, percent-encoded or not. */
export const fillCacheBuster = (url: string, random: () => number = Math.random): string =>
  url.replace(/%7Bcbuster%7D|\{cbuster\}/gi, () => random().toString(36).slice(2, 14) || '0');

/**
 * Fires a beacon of an offer (docs/reference/tracking-and-conversions.md#tracking-urls). Resolves when the server has
 * recorded it; "" (such as an absent `adv_pixel_url`) fires nothing. Repeating a call is harmless, because it counts
 * once.
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
