import { SdkError } from './errors.ts';
import { blockedError, callError } from './policy.ts';
import { withRetries } from './retry.ts';
import type { Offer } from './types.ts';

export type Beacons = {
  /** Fires `pixel` and `adv_pixel_url` once per offer. */
  impression: (offer: Offer) => void;
  /** Fires one of the offer's `beacons` once. The beacon may be missing if the page supplied the response. */
  send: (name: keyof Offer['beacons'], offer: Offer) => void;
  /** IDs of the offers whose impression beacon was fired. */
  seenOfferIds: ReadonlySet<number>;
};

/**
 * Creates the beacon sender for a response (docs/reference/tracking-and-conversions.md#tracking-urls). `onFailure` is
 * called with the error of each beacon that failed after all retries.
 */
export function createBeacons(
  origin: string,
  onFailure: (err: unknown) => void,
  alreadySeenIds: Iterable<number> = [],
): Beacons {
  const seenOfferIds = new Set(alreadySeenIds);
  const sentUrls = new Set<string>();
  const send = (url: string | undefined): void => {
    if (!url || sentUrls.has(url)) return;
    sentUrls.add(url);
    withRetries(() => sendOnce(url, origin)).catch(onFailure);
  };
  /**
   * Fires a beacon by loading an image, so that the browser sends the cookies of the beacon's host. The response is
   * ignored.
   */
  const loadPixel = (url: string): void => {
    if (url === '') return;
    const image = new Image();
    // If the content security policy blocks an image, it fails like any other. Report an error only in that case.
    image.onerror = () => void blockedError(url, 'img-src').then((err) => err && onFailure(err));
    image.src = withCacheBuster(url);
  };
  return {
    seenOfferIds,
    impression: (offer) => {
      if (seenOfferIds.has(offer.id)) return;
      seenOfferIds.add(offer.id);
      send(offer.pixel);
      loadPixel(offer.adv_pixel_url);
    },
    send: (name, offer) => send(offer.beacons[name]),
  };
}

/**
 * Sends a beacon once. The response status can only be read if the beacon belongs to the service itself. For other
 * hosts, only network failures can be detected.
 */
async function sendOnce(url: string, origin: string): Promise<void> {
  const mode = new URL(url).origin === origin ? 'cors' : 'no-cors';
  let response: Response;
  try {
    response = await fetch(withCacheBuster(url), { mode, keepalive: true, credentials: 'omit', cache: 'no-store' });
  } catch {
    throw await callError(url, 'beacon_error', 'A beacon could not be sent.');
  }
  if (!response.ok && response.type !== 'opaque')
    throw new SdkError('beacon_error', `A beacon failed with ${response.status}.`, response.status);
}

const withCacheBuster = (url: string): string =>
  url.replace(/(\{|%7B)cbuster(\}|%7D)/gi, () => Math.random().toString(36).slice(2));
