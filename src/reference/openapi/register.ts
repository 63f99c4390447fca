import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { App } from '../../platform/ports.ts';
import { guidesPath } from '../guides/guides.ts';
import { type LiveExamples, withValues } from '../live-examples.ts';
import { nameComponents } from './components.ts';
import type { ApiDocument } from './example-request.ts';
import { addExamples, type Examples, readExamples } from './examples.ts';
import { tags } from './tags.ts';

const description = `Personalised offers at checkout, exact beacons, User Selected Perks and signed webhooks.

Every error answer has the form of the schema **Error**. The examples are for the demo (\`npm start\`): there,
sessions, tokens and deliveries in them are the latest that it has, and "Authorize" is filled in. A parameter of a list
that is named like a field keeps the rows that have its value. The [guides](/docs/guides) say more.`;

const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key. The SDK id of a publisher works as a key with the permission `ads/offers` only.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'query',
    name: 'api_key',
    description: 'The same in the query, before the header; last come `key` and `api_key` of a JSON body.',
  },
  operator: {
    type: 'http',
    scheme: 'bearer',
    description: "An operator's API key: one with the permission `accounts`.",
  },
} as const;

/** The OpenAPI 3.1 description of all routes that are registered from now on, and of the webhooks that are sent. */
export async function describeApi(app: App, publicUrl: string, webhooks: Record<string, object>): Promise<void> {
  const examples = readExamples();
  const contact = { name: 'Perkwire guides', url: `${publicUrl}${guidesPath}` };
  await app.register(swagger, {
    openapi: {
      // The types of OpenAPI 3.0 and 3.1 are one union, in which webhooks of neither fit.
      ...({ webhooks } as object),
      openapi: '3.1.0',
      info: { title: 'Perkwire', version: '1.0.0', description, contact, license },
      servers: [{ url: publicUrl }],
      security: [{ bearer: [] }, { apiKey: [] }],
      tags: [...tags],
      components: { securitySchemes },
    },
    transformObject: (document) =>
      nameComponents(addExamples('openapiObject' in document ? document.openapiObject : {}, examples)),
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) =>
        typeof json.$id === 'string' ? json.$id : `schema-${index}`,
    },
  });
}

/**
 * The description at /docs/json, with a page to browse it at /docs.
 * @param live in the demo: what its examples name there. Opening them only reads.
 */
export async function showApi(app: App, live: LiveExamples | null): Promise<void> {
  const uiConfig = { docExpansion: 'list', deepLinking: true } as const;
  if (live === null) return void (await app.register(swaggerUi, { routePrefix: '/docs', uiConfig }));

  const examples = readExamples();
  const documents = new WeakMap<object, ApiDocument>();
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { ...uiConfig, onComplete: authorizeWithDemoKeys },
    uiHooks: {
      preHandler: async (request) => {
        if (!/^\/docs\/(json|yaml)\b/.test(request.url)) return;
        // Without a database the examples are those that are recorded.
        const values = await live.values().catch(() => ({}));
        documents.set(request, withLiveValues(withDemoKeys(app.swagger(), live.keys), examples, values));
      },
    },
    transformSpecification: (given, request) => documents.get(request) ?? given,
  });
}

/** Each operation's example with the values that it names in `live`. */
const withLiveValues = (document: ApiDocument, { requests }: Examples, values: Record<string, string>): ApiDocument =>
  withValues(document, (operationId) =>
    Object.fromEntries(
      Object.entries(requests[operationId]?.live ?? {}).flatMap(([place, name]) => {
        const value = values[name];
        return value === undefined ? [] : [[place, value]];
      }),
    ),
  );

function withDemoKeys(document: object, keys: LiveExamples['keys']): ApiDocument {
  const { components, ...rest } = document as ApiDocument;
  const schemes = Object.entries(components.securitySchemes).map(([name, scheme]) => [
    name,
    { ...scheme, ...(name in keys && { 'x-demo-key': keys[name] }) },
  ]);
  return { ...rest, components: { ...components, securitySchemes: Object.fromEntries(schemes) } };
}

declare const ui: {
  specSelectors: {
    specJson: () => { getIn: (path: string[]) => { toJS: () => Record<string, Record<string, string>> } };
  };
  preauthorizeApiKey: (scheme: string, key: string) => void;
};

/** Runs in the browser, in the scope of Swagger UI's own start. */
function authorizeWithDemoKeys(): void {
  const schemes = ui.specSelectors.specJson().getIn(['components', 'securitySchemes']).toJS();
  for (const [name, { 'x-demo-key': key }] of Object.entries(schemes))
    if (key !== undefined) ui.preauthorizeApiKey(name, key);
}
