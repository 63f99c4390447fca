import type { EventLog } from '../event-log/event-log.ts';
import type { OfferDeps } from '../offers/ports.ts';
import type { EventMeter } from './event-rows.ts';

/** What tracking takes. */
export type TrackingDeps = OfferDeps & {
  eventMeter: EventMeter;
  /** null: events go straight to PostgreSQL. */
  eventLog: EventLog | null;
};
