import { readFileSync } from 'node:fs';
import { Type } from '@sinclair/typebox';
import type { Publisher } from '../catalog/types.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { createStaticText, type StaticText } from '../platform/http/static-text.ts';
import { wantedOf } from '../platform/i18n/reader.ts';
import { eventGroupOf } from '../webhooks/event-groups.ts';
import { type EventType, type EventTypes, schemaVersion } from '../webhooks/events.ts';
import { type EventHistory, eventChanges, eventsPath, payloadFields } from './events/payload-fields.ts';
import type { SearchRow } from './guides/routes.ts';
import type { DocsAssets } from './site/assets.ts';
import { sendDocsPage, sendMarkdown } from './site/page.ts';

type Catalogue = { events: EventTypes; publicUrl: string };

type CatalogueDeps = Catalogue & { assets: DocsAssets; isDemo: boolean };

/** Returns the URL of an event schema, which includes the schema version. */
const schemaUrl = ({ name }: EventType, publicUrl: string): string =>
  `${publicUrl}${eventsPath}/${name}.v${schemaVersion}.json`;

/** Builds the JSON Schema (2020-12) of an event payload. */
const schemaOf = (type: EventType, publicUrl: string) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: schemaUrl(type, publicUrl),
  ...type.payload,
  title: type.title,
  description: type.description,
});

/** Timestamp of the sample payloads. It is fixed so that the API description does not change over time. */
const sampleAtMs = Date.UTC(2026, 0, 1);
const sampleSettings = {
  name: 'Example Shop',
  defaultTheme: null,
  walletEnabled: true,
  offerwallEnabled: true,
  language: wantedOf('en'),
  ownEvents: [],
};
const samplePublisher = { id: 1, ...sampleSettings } as Partial<Publisher> as Publisher;

const sampleOf = ({ sample }: EventType, publicUrl: string): unknown =>
  JSON.parse(sample({ publisher: samplePublisher, publicUrl, nowMs: sampleAtMs }).toString());

const historyFile = new URL('../../assets/openapi/events.json', import.meta.url);

/**
 * Registers the event catalogue routes: `GET /docs/events`, as a page, as JSON and as Markdown, and the schema of each
 * event (docs/reference/webhooks.md#event-catalogue).
 * @returns a function that loads the search entries for the events
 */
export function eventCatalogueRoutes(
  app: App,
  { events, publicUrl, assets, isDemo }: CatalogueDeps,
): () => Promise<SearchRow[]> {
  const types = [...events.values()];
  const schemas = new Map(types.map((type) => [`${type.name}.v${schemaVersion}.json`, schemaOf(type, publicUrl)]));
  const history = JSON.parse(readFileSync(historyFile, 'utf8')) as EventHistory;
  const list = types.map((type) => {
    const sample = sampleOf(type, publicUrl);
    return {
      name: type.name,
      group: eventGroupOf(type),
      title: type.title,
      description: type.description,
      version: schemaVersion,
      schema_url: schemaUrl(type, publicUrl),
      sample,
      fields: payloadFields(type.payload, sample, history[type.name]),
      changes: eventChanges(history[type.name]),
    };
  });

  const listed = async () => ({ message: 'Events found.', data: list });
  const pageEvents = types.map(({ payload }, index) => ({ ...(list[index] as (typeof list)[number]), payload }));
  let page: Promise<StaticText> | null = null;
  let markdown: Promise<StaticText> | null = null;

  app.get(`${eventsPath}.json`, { schema: { hide: true } }, listed);

  app.get(`${eventsPath}.md`, { schema: { hide: true } }, async (request, reply) => {
    markdown ??= import('./events/page.ts').then(({ renderEventsMarkdown }) =>
      createStaticText(renderEventsMarkdown(pageEvents, publicUrl)),
    );
    return sendMarkdown(request, reply, await markdown);
  });

  app.get(eventsPath, { schema: { hide: true } }, async (request, reply) => {
    reply.header('vary', 'accept');
    if (!request.headers.accept?.includes('text/html')) return listed();
    page ??= import('./events/page.ts').then(({ renderEventsPage }) =>
      createStaticText(renderEventsPage(pageEvents, assets, isDemo)),
    );
    return sendDocsPage(request, reply, await page);
  });

  app.get(
    `${eventsPath}/:file`,
    { schema: { hide: true, params: Type.Object({ file: Type.String() }) } },
    async (request, reply) => {
      const schema = schemas.get(request.params.file);
      if (schema === undefined) throw new AppError('not_found');
      reply.type('application/schema+json');
      return JSON.stringify(schema);
    },
  );
  return async () => types.map(({ name, title, description }) => [`${eventsPath}#${name}`, name, title, description]);
}

/** Returns the schema name of an event, such as `UspSelectionEvent` for `usp.selection`. */
const schemaNameOf = ({ name }: EventType): string =>
  `${name
    .split(/[._]/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')}Event`;

/** Returns the events in the form in which OpenAPI lists them under `webhooks`. */
export const webhooksOf = ({ events, publicUrl }: Catalogue) =>
  Object.fromEntries(
    [...events.values()].map((type) => [
      type.name,
      {
        post: {
          summary: type.title,
          description: type.description,
          operationId: `webhook.${type.name}`,
          tags: ['Webhooks'],
          requestBody: {
            content: {
              'application/json': {
                schema: { ...type.payload, title: schemaNameOf(type) },
                example: sampleOf(type, publicUrl),
              },
            },
          },
          responses: { 200: { description: 'Any 2xx status marks the delivery as delivered.' } },
        },
      },
    ]),
  );
