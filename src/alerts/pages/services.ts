import type { Shell } from '../../shell/layout.ts';
import type { WebhookDeps } from '../../webhooks/ports.ts';

/** What the pages of alerts are made with. */
export type PageServices = Shell & { deps: WebhookDeps };
