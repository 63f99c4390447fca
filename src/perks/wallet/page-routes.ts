import type { OfferDeps } from '../../offers/ports.ts';
import type { App } from '../../platform/ports.ts';
import { walletErrorPages } from './error-pages.ts';
import { removePath, savePath } from './page.ts';
import { createPages } from './page-service.ts';
import { walletPagePath } from './service.ts';
import { pageHeaders } from './style.ts';

/** Pages are not part of the API reference. A malformed query or form is a bad link, not a validation error. */
const options = { schema: { hide: true }, config: { errorPages: walletErrorPages } };

/** The page of a user's saved offers and its buttons. A signed link gives access to one wallet. */
export async function walletPageRoutes(app: App, deps: OfferDeps): Promise<void> {
  const pages = createPages(deps);
  const headers = { ...pageHeaders(deps.config.publicUrl), 'content-type': 'text/html; charset=utf-8' };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 4096 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );

  app.get(walletPagePath, options, async (request, reply) => {
    const text = await pages.show(request.query as Fields);
    return reply.headers(headers).send(text);
  });
  app.post(removePath, options, async (request, reply) => {
    const link = await pages.remove(fieldsOf(request.body));
    return reply.code(303).headers(headers).header('location', pathOf(link)).send();
  });
  app.post(savePath, options, async (request, reply) => {
    const link = await pages.save(fieldsOf(request.body));
    return reply.code(303).headers(headers).header('location', pathOf(link)).send();
  });
}

type Fields = Record<string, unknown>;

const fieldsOf = (body: unknown): Fields => (body ?? {}) as Fields;

/** Relative, so that it works under any name of the server. */
const pathOf = (link: string): string => `${walletPagePath}?t=${link}`;
