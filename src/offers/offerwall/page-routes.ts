import type { FastifyReply, FastifyRequest } from 'fastify';
import { loadScript } from '../../browser/serve/script.ts';
import type { CatalogDeps } from '../../catalog/ports.ts';
import type { Publisher } from '../../catalog/snapshot/types.ts';
import { AppError } from '../../platform/errors.ts';
import type { ErrorPages } from '../../platform/http/error-pages.ts';
import type { App } from '../../platform/ports.ts';
import { openLink, requireOfferwall } from './links.ts';
import { renderPage } from './page.ts';
import { pageHeaders, style } from './style.ts';

const errorPages: ErrorPages = {
  offerwall_not_enabled: { title: 'Not available', text: 'There is no offerwall here.' },
  invalid_token: {
    title: 'This link does not work',
    text: 'It is incomplete or has expired. Open it again from where you found it.',
  },
};

/**
 * The hosted page of the offerwall, in a browser, a frame or a web view: `/offerwall?t=…` from an offer's
 * `offerwall_url`, or `/offerwall/v2/?accountId=…&themeId=…&country=…&c_id=…` with user data.
 * Deciding and recording begin when its script requests offers.
 */
export async function offerwallPageRoutes(app: App, deps: CatalogDeps): Promise<void> {
  const { catalog, config } = deps;
  const script = await loadScript('offerwall', config.publicUrl);

  function publisherOf({ t, accountId, sdk_id: sdkId = accountId }: Record<string, unknown>): Publisher {
    if (t !== undefined) return openLink(deps, t).publisher;
    const publisher = typeof sdkId === 'string' ? catalog.current().publishersBySdkId.get(sdkId) : undefined;
    if (publisher === undefined) throw new AppError('invalid_token');
    requireOfferwall(publisher);
    return publisher;
  }

  const showPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (script === null) throw new AppError('not_found');
    const publisher = publisherOf(request.query as Record<string, unknown>);
    return reply
      .headers(pageHeaders(config.publicUrl, publisher.frameHosts))
      .type('text/html; charset=utf-8')
      .send(renderPage('More offers', script.path));
  };
  for (const url of paths) app.get(url, { schema: { hide: true }, config: { errorPages } }, showPage);

  // For the wall that a page draws into a container of its own, behind a shadow root.
  app.get('/offerwall/v2/style.css', { schema: { hide: true } }, async (request, reply) => {
    publisherOf(request.query as Record<string, unknown>);
    return reply
      .headers({
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
        'cache-control': 'public, max-age=60',
        'x-content-type-options': 'nosniff',
      })
      .type('text/css; charset=utf-8')
      .send(shadowStyle(style));
  });
}

/** Addresses of the page; the last two are older ones (docs/interface.md#offerwall). */
const paths = ['/offerwall', '/offerwall/v2', '/offerwall/v2/'];

/** The style sheet of a page for a shadow root, whose host stands for the page's root and body. */
const shadowStyle = (sheet: string): string => sheet.replace(/(^|[{}\s,])(?::root|body)(?=[{\s,])/g, '$1:host');
