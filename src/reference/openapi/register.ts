import swagger from '@fastify/swagger';
import type { App } from '../../platform/http/app.ts';
import { version } from '../../platform/version.ts';
import { guidesPath } from '../guides/guides.ts';
import { nameComponents } from './components.ts';
import { addExamples, readExamples } from './examples.ts';
import { tags } from './tags.ts';

const description = `Personalised offers at checkout, exact beacons, User Selected Perks and signed webhooks.

Every error response has the schema **Error**. The examples work with the demo (\`npm start\`), which fills in its key
and its latest sessions, tokens and deliveries. In lists, a parameter with the name of a field filters by its value.
See also the [guides](/docs/guides).`;

const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key. The SDK ID of a publisher works as a key with the permission `ads/offers` only.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'query',
    name: 'api_key',
    description:
      'API key in the query. It takes precedence over the header. A JSON body can contain it as `key` or ' +
      '`api_key` instead.',
  },
  operator: {
    type: 'http',
    scheme: 'bearer',
    description: 'API key with the permission `accounts`, for operators.',
  },
} as const;

/** Registers the OpenAPI 3.1 description, which covers the webhooks and all routes that are registered from now on. */
export async function describeApi(app: App, publicUrl: string, webhooks: Record<string, object>): Promise<void> {
  const examples = readExamples();
  const contact = { name: 'Perkwire guides', url: `${publicUrl}${guidesPath}` };
  await app.register(swagger, {
    openapi: {
      // The OpenAPI 3.0 and 3.1 types form a union, and `webhooks` fits neither of them.
      ...({ webhooks } as object),
      openapi: '3.1.0',
      info: { title: 'Perkwire', version, description, contact, license },
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
