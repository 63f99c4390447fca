import {
  type AdCallback,
  type AdEventPayloads,
  offerCountOf,
  requireBaseUrl,
  type UserPayload,
} from '@perkwire/client';

/** The offer service. */
export type PerkwireService = {
  /** Base URL of the service, such as `https://offers.example`. */
  baseUrl: string;
  /** The publisher's SDK id. */
  sdkId: string;
  /**
   * Origin of the pages in the web views (https), in whose storage prefetched offers are kept; the same in all of them.
   * Default: that of the service.
   */
  origin?: string;
};

/** User data of the request. It must be the same before and at checkout; otherwise the offers are fetched again. */
export type PerkwireUser = UserPayload & { placement: string };

export type EventHandlers = {
  /** Receives the campaign ids of confirmed perks, once per session. */
  onPerksConfirmed?: (selected: number[]) => void;
  onError?: (error: Pick<AdEventPayloads['error'], 'message'> & { kind: string }) => void;
  /** Receives every event of the SDK; ignore unknown ones. */
  onEvent?: (event: AdCallback) => void;
};

/** @throws InvalidParameterError for an origin that is not https, because web views refuse storage there */
export const originOf = ({ origin, baseUrl }: PerkwireService): string => requireBaseUrl(origin ?? baseUrl);

export const sdkUrlOf = ({ baseUrl }: PerkwireService): string => `${baseUrl.replace(/\/+$/, '')}/launcher.min.js`;

/** Calls the handlers of an event. */
export function dispatch(event: AdCallback, { onPerksConfirmed, onError, onEvent }: EventHandlers): void {
  const payload = (event.payload ?? {}) as { selected?: unknown; kind?: unknown; message?: unknown };
  if (event.event === 'usp_confirmed')
    onPerksConfirmed?.(Array.isArray(payload.selected) ? payload.selected.filter(Number.isInteger) : []);
  else if (event.event === 'error') onError?.({ kind: `${payload.kind}`, message: `${payload.message}` });
  onEvent?.(event);
}

/** Number of offers in an event, or null if it contains none. */
export function offersIn({ event, payload }: AdCallback): number | null {
  if (event === 'ads_found') return offerCountOf(payload);
  return event === 'no_ads_found' ? 0 : null;
}
