import {
  type AdCallback,
  type AdEventPayloads,
  offerCountOf,
  requireBaseUrl,
  type UserPayload,
} from '@perkwire/client';

/** Where the offers come from. */
export type PerkwireService = {
  /** Base URL of the service, such as `https://offers.example`. */
  baseUrl: string;
  /** The publisher's SDK id. */
  sdkId: string;
  /**
   * Origin of the pages in the web views (https), in whose storage prefetched offers wait; the same in all of them.
   * Default: that of the service.
   */
  origin?: string;
};

/** User data of the request; the same before and at checkout, otherwise the offers are fetched anew. */
export type PerkwireUser = UserPayload & { placement: string };

export type EventHandlers = {
  /** Campaign ids of the perks that were confirmed; once for a session. */
  onPerksConfirmed?: (selected: number[]) => void;
  onError?: (error: Pick<AdEventPayloads['error'], 'message'> & { kind: string }) => void;
  /** Every event of the SDK; ignore unknown ones. */
  onEvent?: (event: AdCallback) => void;
};

/** @throws InvalidParameterError for an origin that is not https, in which web views refuse storage */
export const originOf = ({ origin, baseUrl }: PerkwireService): string => requireBaseUrl(origin ?? baseUrl);

export const sdkUrlOf = ({ baseUrl }: PerkwireService): string => `${baseUrl.replace(/\/+$/, '')}/launcher.min.js`;

/** Calls the handlers of one event. */
export function dispatch(event: AdCallback, { onPerksConfirmed, onError, onEvent }: EventHandlers): void {
  const payload = (event.payload ?? {}) as { selected?: unknown; kind?: unknown; message?: unknown };
  if (event.event === 'usp_confirmed')
    onPerksConfirmed?.(Array.isArray(payload.selected) ? payload.selected.filter(Number.isInteger) : []);
  else if (event.event === 'error') onError?.({ kind: `${payload.kind}`, message: `${payload.message}` });
  onEvent?.(event);
}

/** How many offers an event tells of; null: it tells nothing of them. */
export function offersIn({ event, payload }: AdCallback): number | null {
  if (event === 'ads_found') return offerCountOf(payload);
  return event === 'no_ads_found' ? 0 : null;
}
