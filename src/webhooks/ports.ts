import type { CatalogDeps } from '../catalog/ports.ts';
import type { EndpointActivity } from './activity/activity.ts';
import type { Sender } from './dispatcher/send/sender.ts';
import type { EventTypes } from './events.ts';
import type { DispatcherMetrics } from './metrics.ts';

export type WebhookDeps = CatalogDeps & {
  /** Calls publishers' endpoints. */
  sender: Sender;
  /** Counts attempts for the charts of endpoints. */
  activity: EndpointActivity;
  dispatcherMetrics: DispatcherMetrics;
};

/** `events`: what publishers can subscribe to. */
export type EndpointDeps = WebhookDeps & { events: EventTypes };
