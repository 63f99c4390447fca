import {
  type AdCallback,
  type AdEventPayloads,
  offerCountOf,
  requireBaseUrl,
  type UserPayload,
} from '@perkwire/client';

/** Connection settings of the offer service. */
export type PerkwireService = {
  /** Base URL of the service, such as `https://offers.example`. */
  baseUrl: string;
  /** SDK ID of the publisher. */
  sdkId: string;
  /**
   * https origin of the web view pages. Their web storage contains the prefetched offers, so all web views must use the
   * same origin. Defaults to the origin of the service.
   */
  origin?: string;
};

/**
 * User data for the fetch. Pass the same data for prefetching and at checkout. Otherwise, the offers are fetched again.
 */
export type PerkwireUser = UserPayload & { placement: string };

export type EventHandlers = {
  /** Called once per session with the IDs of the confirmed campaigns. */
  onPerksConfirmed?: (selected: number[]) => void;
  onError?: (error: Pick<AdEventPayloads['error'], 'message'> & { kind: string }) => void;
  /** Called for every SDK event. Ignore unknown events. */
  onEvent?: (event: AdCallback) => void;
};

/**
 * Returns the origin of the web view pages.
 * @throws InvalidParameterError if the origin is not https, because web views block web storage for such origins
 */
export const originOf = ({ origin, baseUrl }: PerkwireService): string => requireBaseUrl(origin ?? baseUrl);

export const sdkUrlOf = ({ baseUrl }: PerkwireService): string => `${baseUrl.replace(/\/+$/, '')}/launcher.min.js`;

/** Calls the handlers for an event. */
export function dispatch(event: AdCallback, { onPerksConfirmed, onError, onEvent }: EventHandlers): void {
  const payload = (event.payload ?? {}) as { selected?: unknown; kind?: unknown; message?: unknown };
  if (event.event === 'usp_confirmed')
    onPerksConfirmed?.(Array.isArray(payload.selected) ? payload.selected.filter(Number.isInteger) : []);
  else if (event.event === 'error') onError?.({ kind: `${payload.kind}`, message: `${payload.message}` });
  onEvent?.(event);
}

/** Returns the offer count in an event, or null if the event contains no count. */
export function offersIn({ event, payload }: AdCallback): number | null {
  if (event === 'ads_found') return offerCountOf(payload);
  return event === 'no_ads_found' ? 0 : null;
}
