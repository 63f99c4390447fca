import type { FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import { loadScript } from '../../browser/script.ts';
import { findTheme, hostedStyle } from '../../catalog/themes.ts';
import type { Publisher, Theme } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { ErrorPages } from '../../platform/http/error-pages.ts';
import { html, pageOf } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { inRequestLanguage } from '../../platform/i18n/reader.ts';
import { type LinkReader, openLink, requireOfferwall } from './links.ts';
import { findWallSession } from './sessions.ts';
import { pageHeaders, rules } from './style.ts';

const errorPages: ErrorPages = {
  offerwall_not_enabled: 'endUser.offerwall.notEnabled',
  invalid_token: 'endUser.offerwall.invalidLink',
};

/**
 * Registers the hosted offerwall page, for use in a browser, frame or web view. Its URL is `/offerwall?t=…` from an
 * offer's `offerwall_url`, or `/offerwall/v2/?accountId=…&themeId=…&country=…&c_id=…` with user data. Offers are not
 * decided or recorded until the page's script requests them.
 */
export async function offerwallPageRoutes(
  app: App,
  { config, pool, dbHealth, ...links }: LinkReader & { config: Config; pool: pg.Pool; dbHealth: DatabaseHealth },
): Promise<void> {
  const { catalog } = links;
  const failFast = createFailFast(dbHealth);
  const script = await loadScript('offerwall', config.publicUrl);

  function publisherOf({ t, accountId, sdk_id: sdkId = accountId }: Record<string, unknown>): Publisher {
    if (t !== undefined) return openLink(links, t).publisher;
    const publisher = typeof sdkId === 'string' ? catalog.current().publishersBySdkId.get(sdkId) : undefined;
    if (publisher === undefined) throw new AppError('invalid_token');
    requireOfferwall(publisher);
    return publisher;
  }

  /** Returns the language of the link's session. Null if the session has none, or if the database is unavailable. */
  async function languageOfLink(token: unknown): Promise<string | null> {
    const { claims, publisher } = openLink(links, token);
    const find = () => findWallSession(pool, publisher.id, claims.sessionId);
    return (await failFast(find).catch(() => null))?.language ?? null;
  }

  const showPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (script === null) throw new AppError('not_found');
    const query = request.query as Record<string, unknown>;
    const publisher = publisherOf(query);
    const style = hostedStyle(publisher, themeOf(publisher, query), rules);
    const sessionTags = query.t === undefined ? null : await languageOfLink(query.t);
    return reply
      .headers(
        pageHeaders(config.publicUrl, { frameHosts: publisher.frameHosts, signed: query.t !== undefined, style }),
      )
      .type('text/html; charset=utf-8')
      .send(inRequestLanguage(request, () => renderPage({ style, scriptPath: script.path }), sessionTags));
  };
  for (const url of paths) app.get(url, { schema: { hide: true }, config: { errorPages } }, showPage);

  // Style sheet for an offerwall rendered into a shadow root inside another page.
  app.get('/offerwall/v2/style.css', { schema: { hide: true } }, async (request, reply) => {
    const query = request.query as Record<string, unknown>;
    const publisher = publisherOf(query);
    return reply
      .headers({
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
        'cache-control': 'public, max-age=60',
        'x-content-type-options': 'nosniff',
      })
      .type('text/css; charset=utf-8')
      .send(shadowStyle(hostedStyle(publisher, themeOf(publisher, query), rules)));
  });
}

/** Paths of the page. The last two are supported for older clients (docs/reference/fetch-offers.md#offerwall). */
const paths = ['/offerwall', '/offerwall/v2', '/offerwall/v2/'];

/** Adapts a page's style sheet to a shadow root, where the host element replaces the root and body elements. */
const shadowStyle = (sheet: string): string => sheet.replace(/(^|[{}\s,])(?::root|body)(?=[{\s,])/g, '$1:host');

/**
 * Returns the theme of the page, which also applies to its offers. It is the theme in the URL, or else the placement's
 * theme, or else the default theme.
 */
function themeOf(publisher: Publisher, query: Record<string, unknown>): Theme | null {
  const { theme_id: id, themeId = id, placement } = query;
  const themeOfUrl = typeof themeId === 'string' ? findTheme(publisher, themeId) : null;
  const ofPlacement = typeof placement === 'string' ? publisher.placements.get(placement)?.themeId : null;
  return themeOfUrl ?? publisher.themes.get(ofPlacement ?? 0) ?? publisher.defaultTheme;
}

/** Renders the offerwall page in the reader's language. The script adds the offers. */
function renderPage({ style, scriptPath }: { style: string; scriptPath: string }): string {
  const title = t('endUser.offerwall.title');
  return pageOf({
    title,
    style,
    viewport: 'width=device-width, initial-scale=1, viewport-fit=cover',
    head: html`<script src="${scriptPath}" type="module"></script>\n`,
    body: html`<main id="wall">
<h1>${title}</h1>
<p class="status">${t('endUser.offerwall.loading')}</p>
<noscript><p class="status">${t('endUser.offerwall.needsScript')}</p></noscript>
</main>`,
  });
}
