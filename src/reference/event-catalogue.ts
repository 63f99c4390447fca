import { Type } from '@sinclair/typebox';
import type { Publisher } from '../catalog/types.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/ports.ts';
import { type EventType, type EventTypes, schemaVersion } from '../webhooks/events.ts';

type Catalogue = { events: EventTypes; publicUrl: string };

const catalogueName = '/docs/events';

/** The address of an event's schema, which names its version. */
const schemaUrl = ({ name }: EventType, publicUrl: string): string =>
  `${publicUrl}${catalogueName}/${name}.v${schemaVersion}.json`;

/** JSON Schema (2020-12) of an event's payload. */
const schemaOf = (type: EventType, publicUrl: string) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: schemaUrl(type, publicUrl),
  ...type.payload,
  title: type.title,
  description: type.description,
});

/** Samples are the same at all times, so that a description does not differ from itself. */
const sampleAtMs = Date.UTC(2026, 0, 1);
const samplePublisher = { id: 1, walletEnabled: true, offerwallEnabled: true } as Publisher;

const sampleOf = ({ sample }: EventType, publicUrl: string): unknown =>
  JSON.parse(sample({ publisher: samplePublisher, publicUrl, nowMs: sampleAtMs }).toString());

/** The catalogue of events: GET /docs/events, and the schema of each (docs/interface.md#event-catalogue). */
export async function eventCatalogueRoutes(app: App, { events, publicUrl }: Catalogue): Promise<void> {
  const types = [...events.values()];
  const schemas = new Map(types.map((type) => [`${type.name}.v${schemaVersion}.json`, schemaOf(type, publicUrl)]));
  const list = types.map((type) => ({
    name: type.name,
    title: type.title,
    description: type.description,
    version: schemaVersion,
    schema_url: schemaUrl(type, publicUrl),
    sample: sampleOf(type, publicUrl),
  }));

  app.get(catalogueName, { schema: { hide: true } }, async () => ({ message: 'Events found.', data: list }));

  app.get(
    `${catalogueName}/:file`,
    { schema: { hide: true, params: Type.Object({ file: Type.String() }) } },
    async (request, reply) => {
      const schema = schemas.get(request.params.file);
      if (schema === undefined) throw new AppError('not_found');
      reply.type('application/schema+json');
      return JSON.stringify(schema);
    },
  );
}

/** `usp.selection` → `UspSelectionEvent`. */
const schemaNameOf = ({ name }: EventType): string =>
  `${name
    .split(/[._]/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')}Event`;

/** The events as OpenAPI lists them under `webhooks`. */
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
          responses: { 200: { description: 'Delivered: any 2xx.' } },
        },
      },
    ]),
  );
