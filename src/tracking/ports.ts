import type { OfferDeps } from '../offers/ports.ts';
import type { EventMeter } from './event-rows.ts';

/** What tracking takes. */
export type TrackingDeps = OfferDeps & {
  eventMeter: EventMeter;
};
