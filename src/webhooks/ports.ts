import type { CatalogDeps } from '../catalog/ports.ts';
import type { Sender } from './dispatcher/send/deliver.ts';

/** `sender` calls publishers' endpoints. */
export type WebhookDeps = CatalogDeps & { sender: Sender };
