import type { CatalogDeps } from '../catalog/ports.ts';
import type { Sender } from './dispatcher/send/deliver.ts';
import type { EventTypes } from './events.ts';

/** `sender` calls publishers' endpoints. */
export type WebhookDeps = CatalogDeps & { sender: Sender };

/** `events`: what publishers can subscribe to. */
export type EndpointDeps = WebhookDeps & { events: EventTypes };
