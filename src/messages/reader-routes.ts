import type pg from 'pg';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { cardHeaders, cardStyle, type ErrorPages } from '../platform/http/error-pages.ts';
import { html, pageOf } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { inRequestLanguage } from '../platform/i18n/reader.ts';
import { confirmAddress, type Reader, suppress } from './addresses.ts';
import { readerPaths } from './compose.ts';

type ReadToken = { read: (token: unknown) => Reader | null };

type RouteDeps = {
  pool: pg.Pool;
  unsubscribeTokens: ReadToken;
  confirmTokens: ReadToken;
  now: () => number;
};

const errorPages: ErrorPages = { invalid_token: 'endUser.offerwall.invalidLink' };
const options = { schema: { hide: true }, config: { errorPages } };
const headers = { 'content-type': 'text/html; charset=utf-8', ...cardHeaders("'self'") };

/**
 * Registers the routes for links in messages: one-click unsubscribe, for which mail clients send a POST request (RFC
 * 8058), and confirmation of an address. Readers who open a link see a page with a button. GET requests change nothing,
 * because mail scanners follow links.
 */
export async function readerRoutes(app: App, deps: RouteDeps): Promise<void> {
  const { pool, now, unsubscribeTokens, confirmTokens } = deps;
  app.removeAllContentTypeParsers();
  // Accept any content type without parsing: the body is always `List-Unsubscribe=One-Click`, as a form or as
  // multipart.
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 4096 }, (_request, _body, done) =>
    done(null, undefined),
  );

  const addLink = (path: string, tokens: ReadToken, link: Link): void => {
    const readerOf = (query: unknown): Reader => {
      const reader = tokens.read((query as { t?: unknown }).t);
      if (reader === null) throw new AppError('invalid_token');
      return reader;
    };
    app.get(path, options, async (request, reply) => {
      readerOf(request.query);
      const page = inRequestLanguage(request, () =>
        pageOf({
          title: t(link.button),
          style: cardStyle,
          body: html`<main><section><h1>${t(link.question)}</h1>
<form method="post"><button>${t(link.button)}</button></form></section></main>`,
        }),
      );
      return reply.headers(headers).send(page);
    });
    app.post(path, options, async (request, reply) => {
      await link.act(readerOf(request.query));
      const page = inRequestLanguage(request, () =>
        pageOf({
          title: t(link.doneTitle),
          style: cardStyle,
          body: html`<main><section><h1>${t(link.doneTitle)}</h1><p>${t(link.done)}</p></section></main>`,
        }),
      );
      return reply.headers(headers).send(page);
    });
  };

  addLink(readerPaths.unsubscribe, unsubscribeTokens, {
    question: 'endUser.message.question',
    button: 'endUser.message.unsubscribe',
    doneTitle: 'endUser.message.goneTitle',
    done: 'endUser.message.gone',
    act: async (reader) => void (await suppress(pool, [reader], 'unsubscribed', now())),
  });
  addLink(readerPaths.confirm, confirmTokens, {
    question: 'endUser.message.confirmTitle',
    button: 'endUser.message.confirm',
    doneTitle: 'endUser.message.confirmTitle',
    done: 'endUser.message.confirmed',
    act: (reader) => confirmAddress(pool, reader, now()),
  });
}

type Link = Record<'question' | 'button' | 'doneTitle' | 'done', MessageKey> & {
  act: (reader: Reader) => Promise<void>;
};
