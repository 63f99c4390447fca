import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { App } from '../../ports.ts';
import { nameComponents } from './components.ts';

const description = `Personalised offers at checkout, exact beacons, User Selected Perks and signed webhooks.

Keys: query \`api_key\`, \`Authorization: Bearer\`, body \`key\` or body \`api_key\`; the first found counts.
The SDK id of a publisher works as a key that carries \`ads/offers\` only.
Every error response has the form of the schema **Error**.`;

/** Paths in OpenAPI's own terms, with their operations. */
export type ApiPaths = NonNullable<NonNullable<FastifyDynamicSwaggerOptions['openapi']>['paths']>;

/** What is described beside the routes: paths that are served directly, and the webhooks that are sent. */
type Described = { paths: ApiPaths; webhooks: Webhooks };
type Webhooks = Record<string, object>;

/**
 * The OpenAPI 3.1 description at /docs/json, made from the routes' schemas and what is `described` beside them, with a
 * page to browse it at /docs.
 */
export async function registerOpenApi(app: App, publicUrl: string, { paths, webhooks }: Described): Promise<void> {
  await app.register(swagger, {
    openapi: {
      paths,
      // The types of OpenAPI 3.0 and 3.1 are one union, in which webhooks of neither fit.
      ...({ webhooks } as object),
      openapi: '3.1.0',
      info: { title: 'Perkwire', version: '1.0.0', description },
      servers: [{ url: publicUrl }],
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'query', name: 'api_key' },
          bearer: { type: 'http', scheme: 'bearer' },
        },
      },
    },
    transformObject: (document) => nameComponents('openapiObject' in document ? document.openapiObject : {}),
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) =>
        typeof json.$id === 'string' ? json.$id : `schema-${index}`,
    },
  });
  await app.register(swaggerUi, { routePrefix: '/docs', uiConfig: { docExpansion: 'list', deepLinking: true } });
}
