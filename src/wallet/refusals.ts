import type { App, Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { renderMessage } from './page.ts';
import { pageHeaders } from './style.ts';

/**
 * Refusals become pages for who reads pages; who guesses links is limited like anybody who fails. Everything else goes on to the
 * general handler and its error form.
 */
export function sayToPeople(app: App, { failures, config }: Pick<Deps, 'failures' | 'config'>): void {
  const headers = { ...pageHeaders(config.publicUrl), 'content-type': 'text/html; charset=utf-8' };
  app.setErrorHandler((err, request, reply) => {
    const code = err instanceof AppError && request.headers.accept?.includes('text/html') ? err.code : null;
    if (code === 'wallet_not_enabled')
      return reply.code(403).headers(headers).send(renderMessage('Not available', 'Offers cannot be saved here.'));
    if (code !== 'invalid_token') throw err;
    const limited = failures.charge(request.ip);
    if (limited !== null) throw limited;
    return reply
      .code(400)
      .headers(headers)
      .send(renderMessage('This link does not work', 'It is incomplete or has expired. Open your saved offers anew.'));
  });
}
