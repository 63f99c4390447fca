import type { App } from '../platform/ports.ts';
import type { Platform } from '../platform/room.ts';
import type { EventTypes } from '../webhooks/events.ts';
import { eventCatalogueRoutes, webhooksOf } from './event-catalogue.ts';
import { guideRoutes } from './guides/routes.ts';
import type { LiveExamples } from './live-examples.ts';
import { describeApi, showApi } from './openapi/register.ts';

type Described = { events: EventTypes; examples: LiveExamples | null };

/** What developers read: the API reference, the catalogue of events, the guides. */
export function createReference({ platform: { deps } }: { platform: Platform }) {
  const { publicUrl } = deps.config;
  return {
    name: 'reference',
    prepare: (app: App, { events }: Described) => describeApi(app, publicUrl, webhooksOf({ events, publicUrl })),
    probes: (app: App, { examples }: Described) => showApi(app, examples),
    routes: async (app: App, { events, examples }: Described) => {
      await app.register(eventCatalogueRoutes, { events, publicUrl });
      await app.register(guideRoutes, { publicUrl, isDemo: examples !== null });
    },
  };
}
