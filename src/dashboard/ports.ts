import type { OfferDeps } from '../offers/ports.ts';
import type { EndpointDeps } from '../webhooks/ports.ts';

/**
 * `geo` names the country that a session was started from; `usage` and `model` make decisions explainable; `liveCalls`
 * records what the live page shows.
 */
export type DashboardDeps = EndpointDeps &
  Pick<OfferDeps, 'geo' | 'usage' | 'model' | 'liveCalls' | 'eventsStoredUntil'>;
