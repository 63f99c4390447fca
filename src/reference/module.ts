import type { Catalog } from '../catalog/module.ts';
import type { App } from '../platform/http/app.ts';
import { createStaticText, type StaticText, sendStaticText } from '../platform/http/static-text.ts';
import type { Platform } from '../platform/module.ts';
import type { EventTypes } from '../webhooks/events.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { eventCatalogueRoutes, webhooksOf } from './event-catalogue.ts';
import { guideRoutes } from './guides/routes.ts';
import type { LiveExamples } from './live-examples.ts';
import { describeApi } from './openapi/register.ts';
import { referenceRoutes } from './operations/routes.ts';
import { serveAssets } from './site/assets.ts';
import { caching, searchPath } from './site/page.ts';

type Described = { events: EventTypes; examples: LiveExamples | null };

type ReferenceDeps = { platform: Platform; catalog: Catalog; webhooks: Webhooks };

/** Creates the reference module: API reference, event catalogue, guides and documentation search. */
export function createReference({ platform: { deps } }: ReferenceDeps) {
  const { publicUrl } = deps.config;
  return {
    name: 'reference',
    rank: 230,
    prepare: (app: App, { events }: Described) => describeApi(app, publicUrl, webhooksOf({ events, publicUrl })),
    routes: async (app: App, { events, examples }: Described) => {
      const shared = { publicUrl, assets: await serveAssets(app), isDemo: examples !== null };
      const sources = [
        referenceRoutes(app, { ...shared, examples }),
        eventCatalogueRoutes(app, { ...shared, events }),
        guideRoutes(app, shared),
      ];
      let index: Promise<StaticText> | null = null;
      const makeIndex = async () => {
        const rows = await Promise.all(sources.map((rowsOf) => rowsOf()));
        return createStaticText(JSON.stringify(rows.flat()));
      };
      app.get(searchPath, { schema: { hide: true } }, async (request, reply) => {
        index ??= makeIndex();
        return sendStaticText(request, reply, await index, { type: 'application/json', caching });
      });
    },
  };
}
