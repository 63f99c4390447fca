import type { App, Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { removePath, renderMessage, savePath } from './page.ts';
import { createPages } from './page-service.ts';
import { walletPagePath } from './service.ts';
import { pageHeaders } from './style.ts';

/** For people, so no part of the API's description. An odd query or form is a bad link, not an error of a validator. */
const schema = { hide: true };

/** The page of a user's saved offers and its buttons. Who holds a signed link may see and change that wallet, and nothing else. */
export async function walletPageRoutes(app: App, deps: Deps): Promise<void> {
  const pages = createPages(deps);
  const headers = { ...pageHeaders(deps.config.publicUrl), 'content-type': 'text/html; charset=utf-8' };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: 4096 }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );
  sayToPeople(app, deps.failures, headers);

  app.get(walletPagePath, { schema }, async (request, reply) => {
    const text = await pages.show(request.query as Fields);
    return reply.headers(headers).send(text);
  });
  app.post(removePath, { schema }, async (request, reply) => {
    const link = await pages.remove(fieldsOf(request.body));
    return reply.code(303).headers(headers).header('location', pathOf(link)).send();
  });
  app.post(savePath, { schema }, async (request, reply) => {
    const link = await pages.save(fieldsOf(request.body));
    return reply.code(303).headers(headers).header('location', pathOf(link)).send();
  });
}

type Fields = Record<string, unknown>;

const fieldsOf = (body: unknown): Fields => (body ?? {}) as Fields;

/** Relative, so that it leads back under whatever name the server was reached. */
const pathOf = (link: string): string => `${walletPagePath}?t=${link}`;

/**
 * Refusals become pages for who reads pages; who guesses links is limited like anybody who fails. Everything else goes on to the
 * general handler and its error form.
 */
function sayToPeople(app: App, failures: Deps['failures'], headers: Record<string, string>): void {
  app.setErrorHandler((err, request, reply) => {
    const code = err instanceof AppError && request.headers.accept?.includes('text/html') ? err.code : null;
    if (code === 'wallet_not_enabled')
      return reply.code(403).headers(headers).send(renderMessage('Not available', 'Saved offers are switched off here.'));
    if (code !== 'invalid_token') throw err;
    const limited = failures.charge(request.ip);
    if (limited !== null) throw limited;
    return reply
      .code(400)
      .headers(headers)
      .send(renderMessage('This link does not work', 'It is incomplete or has expired. Open your saved offers anew.'));
  });
}
