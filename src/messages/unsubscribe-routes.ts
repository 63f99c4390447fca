import type pg from 'pg';
import { AppError } from '../platform/errors.ts';
import { html, pageOf } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { inRequestLanguage } from '../platform/i18n/reader.ts';
import type { App } from '../platform/ports.ts';
import { unsubscribePath } from './send.ts';
import { suppress } from './store.ts';
import type { Unsubscriber } from './unsubscribe-links.ts';

type RouteDeps = {
  pool: pg.Pool;
  unsubscribeTokens: { read: (token: unknown) => Unsubscriber | null };
  now: () => number;
};

const options = { schema: { hide: true } };
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
};

/**
 * One click ends the messages (RFC 8058): mail clients post, readers see a page with a button. A GET ends nothing,
 * because scanners of mails follow links.
 */
export async function unsubscribeRoutes(app: App, { pool, unsubscribeTokens, now }: RouteDeps): Promise<void> {
  app.removeAllContentTypeParsers();
  // Its body says `List-Unsubscribe=One-Click`, as a form or in parts: there is nothing to read in it.
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 4096 }, (_request, _body, done) =>
    done(null, undefined),
  );
  const readerOf = (query: unknown): Unsubscriber => {
    const who = unsubscribeTokens.read((query as { t?: unknown }).t);
    if (who === null) throw new AppError('invalid_token');
    return who;
  };
  app.get(unsubscribePath, options, async (request, reply) => {
    readerOf(request.query);
    const page = inRequestLanguage(request, () =>
      pageOf({
        title: t('endUser.message.unsubscribe'),
        style: '',
        body: html`<main><h1>${t('endUser.message.question')}</h1>
<form method="post"><button>${t('endUser.message.unsubscribe')}</button></form></main>`,
      }),
    );
    return reply.headers(headers).send(page);
  });
  app.post(unsubscribePath, options, async (request, reply) => {
    await suppress(pool, readerOf(request.query), 'unsubscribed', now());
    const page = inRequestLanguage(request, () =>
      pageOf({
        title: t('endUser.message.goneTitle'),
        style: '',
        body: html`<main><h1>${t('endUser.message.goneTitle')}</h1><p>${t('endUser.message.gone')}</p></main>`,
      }),
    );
    return reply.headers(headers).send(page);
  });
}
