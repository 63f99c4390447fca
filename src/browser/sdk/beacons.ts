import { SdkError } from './errors.ts';
import { withRetries } from './retry.ts';
import type { Offer } from './types.ts';

export type Beacons = {
  /** `pixel` and `adv_pixel_url`, once for each offer. */
  impression: (offer: Offer) => void;
  noThanks: (offer: Offer) => void;
  close: (offer: Offer) => void;
  /** Ids of the offers whose impression was sent. */
  seen: ReadonlySet<number>;
};

/** Sends the beacons of one answer (docs/interface.md#tracking); `onFailure` hears of those given up. */
export function createBeacons(
  origin: string,
  onFailure: (err: unknown) => void,
  alreadySeen: Iterable<number> = [],
): Beacons {
  const seen = new Set(alreadySeen);
  const sent = new Set<string>();
  const send = (url: string): void => {
    if (url === '' || sent.has(url)) return;
    sent.add(url);
    withRetries(() => sendOnce(url, origin), isPassing).catch(onFailure);
  };
  return {
    seen,
    impression: (offer) => {
      if (seen.has(offer.id)) return;
      seen.add(offer.id);
      send(offer.pixel);
      send(offer.adv_pixel_url);
    },
    noThanks: (offer) => send(offer.beacons.no_thanks_click),
    close: (offer) => send(offer.beacons.close),
  };
}

/** The service says whether it counted; of others only the network's failures can be seen. */
async function sendOnce(url: string, origin: string): Promise<void> {
  const mode = new URL(url).origin === origin ? 'cors' : 'no-cors';
  let answer: Response;
  try {
    answer = await fetch(withCacheBuster(url), { mode, keepalive: true, credentials: 'omit', cache: 'no-store' });
  } catch {
    throw new SdkError('beacon_error', 'A beacon could not be sent.');
  }
  if (!answer.ok && answer.type !== 'opaque')
    throw new SdkError('beacon_error', `A beacon was answered ${answer.status}.`, answer.status);
}

const withCacheBuster = (url: string): string =>
  url.replace(/(\{|%7B)cbuster(\}|%7D)/gi, () => Math.random().toString(36).slice(2));

/** Status 0: the network failed. */
const isPassing = (err: unknown): boolean =>
  err instanceof SdkError && (err.status === 0 || err.status === 429 || err.status >= 500);
