import type { Publisher } from '../catalog/types.ts';
import type { App, Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { loadScript } from '../sdk-routes/script.ts';
import { openLink, requireOfferwall } from './links.ts';
import { renderMessage, renderPage } from './page.ts';
import { pageHeaders } from './style.ts';

/**
 * The hosted page of the offerwall, in a browser, a frame or a web view: `/offerwall?t=…` from an offer's `offerwall_url`, or
 * `/offerwall?sdk_id=…&placement=…&pub_user_id=…`. Nothing is decided or recorded before its script asks for offers.
 */
export async function offerwallPageRoutes(app: App, deps: Deps): Promise<void> {
  const { catalog, config, failures } = deps;
  const script = await loadScript('offerwall');

  function publisherOf({ t, sdk_id: sdkId }: Record<string, unknown>): Publisher {
    if (t !== undefined) return openLink(deps, t).publisher;
    const publisher = typeof sdkId === 'string' ? catalog.current().publishersBySdkId.get(sdkId) : undefined;
    if (publisher === undefined) throw new AppError('invalid_token');
    requireOfferwall(publisher);
    return publisher;
  }

  app.get('/offerwall', { schema: { hide: true } }, async (request, reply) => {
    if (script === null) throw new AppError('not_found');
    const publisher = publisherOf(request.query as Record<string, unknown>);
    return reply
      .headers(pageHeaders(config.publicUrl, publisher.frameHosts))
      .type('text/html; charset=utf-8')
      .send(renderPage('More offers', script.path));
  });

  app.setErrorHandler((err, request, reply) => {
    if (!(err instanceof AppError) || err.status >= 500 || !request.headers.accept?.includes('text/html')) throw err;
    const limited = failures.charge(request.ip);
    if (limited !== null) throw limited;
    return reply
      .code(err.status)
      .headers(pageHeaders(config.publicUrl, []))
      .type('text/html; charset=utf-8')
      .send(
        err.code === 'offerwall_not_enabled'
          ? renderMessage('Not available', 'There is no offerwall here.')
          : renderMessage('This link does not work', 'It is incomplete or has expired. Open it anew from where you found it.'),
      );
  });
}
