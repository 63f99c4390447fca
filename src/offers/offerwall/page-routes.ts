import { loadScript } from '../../browser/serve/script.ts';
import type { CatalogDeps } from '../../catalog/ports.ts';
import type { Publisher } from '../../catalog/snapshot/types.ts';
import { AppError } from '../../platform/errors.ts';
import type { ErrorPages } from '../../platform/http/error-pages.ts';
import type { App } from '../../platform/ports.ts';
import { openLink, requireOfferwall } from './links.ts';
import { renderPage } from './page.ts';
import { pageHeaders } from './style.ts';

const errorPages: ErrorPages = {
  offerwall_not_enabled: { title: 'Not available', text: 'There is no offerwall here.' },
  invalid_token: {
    title: 'This link does not work',
    text: 'It is incomplete or has expired. Open it again from where you found it.',
  },
};

/**
 * The hosted page of the offerwall, in a browser, a frame or a web view: `/offerwall?t=…` from an offer's
 * `offerwall_url`, or `/offerwall?sdk_id=…&placement=…&pub_user_id=…`. Deciding and recording begin when its script
 * requests offers.
 */
export async function offerwallPageRoutes(app: App, deps: CatalogDeps): Promise<void> {
  const { catalog, config } = deps;
  const script = await loadScript('offerwall', config.publicUrl);

  function publisherOf({ t, sdk_id: sdkId }: Record<string, unknown>): Publisher {
    if (t !== undefined) return openLink(deps, t).publisher;
    const publisher = typeof sdkId === 'string' ? catalog.current().publishersBySdkId.get(sdkId) : undefined;
    if (publisher === undefined) throw new AppError('invalid_token');
    requireOfferwall(publisher);
    return publisher;
  }

  app.get('/offerwall', { schema: { hide: true }, config: { errorPages } }, async (request, reply) => {
    if (script === null) throw new AppError('not_found');
    const publisher = publisherOf(request.query as Record<string, unknown>);
    return reply
      .headers(pageHeaders(config.publicUrl, publisher.frameHosts))
      .type('text/html; charset=utf-8')
      .send(renderPage('More offers', script.path));
  });
}
