import type { AccountDeps } from '../accounts/ports.ts';
import type { EndpointActivity } from './activity/activity.ts';
import type { EventTypes } from './events.ts';
import type { DispatcherMetrics } from './metrics.ts';
import type { Sender } from './sender.ts';

export type WebhookDeps = AccountDeps & {
  /** Calls publishers' endpoints. */
  sender: Sender;
  /** Counts attempts for the charts of endpoints. */
  activity: EndpointActivity;
  dispatcherMetrics: DispatcherMetrics;
};

/** `events`: what publishers can subscribe to. */
export type EndpointDeps = WebhookDeps & { events: EventTypes };
