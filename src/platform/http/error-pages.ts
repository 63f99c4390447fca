import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppError, ErrorCode } from '../errors.ts';
import { type MessageKey, t } from '../i18n/messages.ts';
import { inRequestLanguage } from '../i18n/reader.ts';
import { html, pageOf } from './html.ts';

/**
 * Prefix of the keys under which the message files contain an error page's title and text, such as
 * `endUser.privacy.notFound`.
 */
type ErrorPage<Key = Extract<MessageKey, `endUser.${string}`>> = Key extends `${infer Page}.title`
  ? `${Page}.text` extends MessageKey
    ? Page
    : never
  : never;

/** Error pages by error code, for routes that users open in a browser. A page is shown instead of the JSON error. */
export type ErrorPages = Partial<Record<ErrorCode, ErrorPage>>;

declare module 'fastify' {
  interface FastifyContextConfig {
    errorPages?: ErrorPages;
  }
}

/** Whether the client accepts HTML. Browsers do, and programs usually do not. */
export const readsPages = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers.accept?.includes('text/html') === true;

/**
 * Whether the browser will display the response as a page, because the request follows a link rather than loading an
 * image or script.
 */
export const isOpened = (request: Pick<FastifyRequest, 'headers'>): boolean =>
  readsPages(request) && request.headers['sec-fetch-mode'] === 'navigate';

/** Sends an error as a page in the user's language, with the same status and `retry-after` as the JSON error. */
export function sendErrorPage(reply: FastifyReply, error: AppError, errorPages: ErrorPages): FastifyReply {
  const page = { ...commonPages, ...errorPages }[error.code] ?? 'endUser.errors.failed';
  const body = inRequestLanguage(reply.request, () => render(page));
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  return reply.code(error.status).headers(headers).type('text/html; charset=utf-8').send(body);
}

const commonPages: ErrorPages = {
  too_many_requests: 'endUser.errors.tooMany',
  unavailable: 'endUser.errors.unavailable',
};

/** Style of error pages and other pages with a single message. */
export const cardStyle = `
:root{color-scheme:light dark;--page:#f5f4f1;--card:#fff;--text:#20242c;--muted:#5b6270;--line:#dedbd3}
@media(prefers-color-scheme:dark){:root{--page:#15171b;--card:#1f2228;--text:#eceef2;--muted:#a5adbb;--line:#353a43}}
body{margin:0;background:var(--page);color:var(--text);overflow-wrap:anywhere}
body{font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:34rem;margin:clamp(1rem,12vh,8rem) auto;padding:0 1rem}
section{background:var(--card);border:1px solid var(--line);border-radius:1rem}
section{padding:clamp(1.25rem,5vw,2.5rem);text-align:center}
h1{font-size:clamp(1.25rem,5vw,1.5rem);line-height:1.2;margin:0 0 .5rem}
p{margin:0;color:var(--muted)}
button{min-height:2.75rem;margin-top:1rem;padding:0 1.5rem;border:0;border-radius:.5rem;background:#176249;color:#fff}
button{font:inherit;font-weight:600;cursor:pointer}
`;

/** Returns the headers of a page with this style. `formAction` is the source that its forms are sent to. */
export const cardHeaders = (formAction: "'none'" | "'self'"): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', cardStyle, 'base64')}'`,
    "base-uri 'none'",
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
});

const headers = cardHeaders("'none'");

function render(page: ErrorPage): string {
  const title = t(`${page}.title`);
  const body = html`<main><section><h1>${title}</h1><p>${t(`${page}.text`)}</p></section></main>`;
  return pageOf({ title, style: cardStyle, body });
}
