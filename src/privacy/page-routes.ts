import { Type } from '@sinclair/typebox';
import type { CatalogDeps } from '../catalog/ports.ts';
import { AppError } from '../platform/errors.ts';
import type { ErrorPages } from '../platform/http/error-pages.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import type { App } from '../platform/ports.ts';
import { renderPrivacyPage } from './page.ts';

const page = { description: 'The page.', content: { 'text/html': { schema: Type.String() } } };

const errorPages: ErrorPages = {
  not_found: {
    title: 'There is nothing here',
    text: 'The link to this page is wrong, or what it was about is gone. Ask whoever showed you the offers.',
  },
};

/** `GET /privacy/{sdk_id}`: what `privacy_url` shows where the publisher has no page of its own. */
export async function privacyPageRoutes(
  app: App,
  { catalog, config }: Pick<CatalogDeps, 'catalog' | 'config'>,
): Promise<void> {
  app.get(
    '/privacy/:sdkId',
    {
      schema: {
        summary: 'Privacy page',
        tags: ['Offers'],
        params: Type.Object({ sdkId: Type.String() }),
        response: { 200: page, ...errorAnswers(404) },
      },
      config: { errorPages },
    },
    async (request, reply) => {
      const publisher = catalog.current().publishersBySdkId.get(request.params.sdkId);
      if (publisher === undefined) throw new AppError('not_found');
      const text = renderPrivacyPage({
        publisherName: publisher.name,
        ownText: publisher.privacyText,
        rawDays: config.retentionRawDays,
        deliveryDays: config.retentionDeliveryDays,
      });
      reply
        .header(
          'content-security-policy',
          "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
        )
        .header('x-content-type-options', 'nosniff')
        .header('referrer-policy', 'no-referrer')
        .header('cache-control', 'public, max-age=300');
      return reply.type('text/html; charset=utf-8').send(text as never);
    },
  );
}
