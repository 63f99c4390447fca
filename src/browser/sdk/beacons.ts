import { SdkError } from './errors.ts';
import { blockedError, callError } from './policy.ts';
import { withRetries } from './retry.ts';
import type { Offer } from './types.ts';

export type Beacons = {
  /** Sends `pixel` and `adv_pixel_url`, once for each offer. */
  impression: (offer: Offer) => void;
  /** Sends one of the offer's `beacons`, once; a response passed by the page may lack it. */
  send: (name: keyof Offer['beacons'], offer: Offer) => void;
  /** Ids of the offers whose impression was sent. */
  seenOfferIds: ReadonlySet<number>;
};

/**
 * Sends the beacons of one response (docs/reference/tracking-and-conversions.md#tracking-urls); `onFailure` receives
 * errors of beacons that are given up.
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
  /** Loads an image, which its host counts with its own cookies; the response does not matter. */
  const loadPixel = (url: string): void => {
    if (url === '') return;
    const image = new Image();
    // A blocked image fails like any other.
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

/** Sends a beacon. The status is readable only for the service; for other hosts only a network failure is. */
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
