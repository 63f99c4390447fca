import type { App } from '../../platform/http/app.ts';
import { languageOf } from '../../platform/i18n/languages.ts';
import { inRequestLanguage } from '../../platform/i18n/reader.ts';
import { walletErrorPages } from './error-pages.ts';
import { removePath, savePath } from './page.ts';
import { createPages } from './page-service.ts';
import { type WalletDeps, walletPagePath } from './service.ts';
import { pageHeaders } from './style.ts';

/**
 * The pages are not part of the API reference. There is no validation schema, so that a malformed query or form is
 * reported as an invalid link.
 */
const options = { schema: { hide: true }, config: { errorPages: walletErrorPages } };

/** Registers the routes of the wallet page. A signed link gives access to a single wallet. */
export async function walletPageRoutes(app: App, deps: WalletDeps): Promise<void> {
  const pages = createPages(deps);
  const headersOf = (style: string) => ({
    ...pageHeaders(deps.config.publicUrl, style),
    'content-type': 'text/html; charset=utf-8',
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 4096 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );

  app.get(walletPagePath, options, async (request, reply) => {
    const { page, style } = await inRequestLanguage(request, () => pages.show(request.query as Fields));
    return reply.headers(headersOf(style)).send(page);
  });
  app.post(removePath, options, async (request, reply) => {
    const form = fieldsOf(request.body);
    const link = await pages.remove(form, request.trace);
    return reply.code(303).headers(headersOf('')).header('location', pathOf(link, form)).send();
  });
  app.post(savePath, options, async (request, reply) => {
    const form = fieldsOf(request.body);
    const link = await pages.save(form, request.trace);
    return reply.code(303).headers(headersOf('')).header('location', pathOf(link, form)).send();
  });
}

type Fields = Record<string, unknown>;

const fieldsOf = (body: unknown): Fields => (body ?? {}) as Fields;

/** Returns the path of a link relative to the host, so that it works with any host name. */
function pathOf(link: string, form: Fields): string {
  const language = languageOf(form.language);
  return `${walletPagePath}?t=${link}${language === null ? '' : `&language=${language}`}`;
}
