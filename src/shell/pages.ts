import type { Readable } from 'node:stream';
import multipart from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { toAppError } from '../platform/http/error-handler.ts';
import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { asReader } from '../platform/i18n/reader.ts';
import { loggedUrl } from '../platform/logger.ts';
import { Problem, wordProblem } from '../platform/problem.ts';
import { linkButton } from './components.ts';
import {
  advertiserPath,
  type Fields,
  fieldsIn,
  type PageContext,
  portalPath,
  publisherPath,
  type Role,
  requireRole,
  type Undo,
  type ViewedAdvertiser,
  type ViewedPublisher,
  viewerOf,
} from './context.ts';
import { type Page, renderCard, renderPage, renderPortal, type Shell } from './layout.ts';
import { countsFor } from './navigation.ts';

/**
 * Result of a page handler:
 * - a page; for a rejected form, the same page with status 422 and the submitted values
 * - a page fragment for htmx
 * - a document for a frame, including its styles
 * - a redirect with a message for the next page, and optionally an undo button (`undo`) and the ID of the element that
 *   shows the message (`at`)
 * - a file
 */
export type PageResult =
  | Page
  | { fragment: Html; status?: number }
  | { framed: string }
  | { to: string; done?: string; failed?: string; undo?: Undo; at?: string }
  | { download: string | Buffer | Readable; type: string; name: string };

/**
 * Registers pages together with the role that they require. Before a handler runs, the session, publisher and CSRF
 * token are checked.
 */
export type Pages<C extends PageContext> = {
  get: (path: string, role: Role, show: (context: C) => Promise<PageResult> | PageResult) => void;
  post: (
    path: string,
    role: Role,
    act: (context: C, fields: Fields, upload: Upload | null) => Promise<PageResult>,
    options?: PostOptions,
  ) => void;
};

/** Whether an action succeeded: it led to another page, or to a page that shows a new secret once. */
const isDone = (result: PageResult): boolean =>
  'to' in result ? result.failed === undefined : 'title' in result && (result.status ?? 200) === 200;

/** Options for a form route. `isSensitive` requires that the user has confirmed their identity recently. */
type PostOptions = { isSensitive?: boolean };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the page requires that the user has confirmed their identity recently, as in `PostOptions`. */
    isSensitive?: boolean;
  }
}

const schema = { hide: true };

/** Returns the route prefix of the pages of one publisher. */
export const publisherPrefix = ({ isPortal }: { isPortal?: true }): string =>
  isPortal ? '/portal/:portalId' : '/dashboard/p/:publisherId';

/** Creates a registrar for the pages of one publisher, below `/dashboard/p/{publisherId}` or in a portal. */
export function pagesOfPublisher(app: App, shell: Shell): Pages<PageContext & { publisher: ViewedPublisher }> {
  return pagesOf(app, shell, publisherPrefix(shell), (request, reply) => {
    const { viewedPublisher: publisher, portal } = request;
    if (publisher === null) throw new AppError('not_found');
    const path = (rest: string): string =>
      portal === null ? publisherPath(publisher.id, rest) : portalPath(portal.id, rest);
    return { request, reply, viewer: viewerOf(request), publisher, path };
  });
}

/** Creates a registrar for the pages of advertiser accounts, below `/dashboard/a/{advertiserId}`. */
export function pagesOfAdvertiser(app: App, shell: Shell): Pages<PageContext & { advertiser: ViewedAdvertiser }> {
  return pagesOf(app, shell, '/dashboard/a/:advertiserId', (request, reply) => {
    const advertiser = request.viewedAdvertiser;
    if (advertiser === null) throw new AppError('not_found');
    const path = (rest: string): string => advertiserPath(advertiser.id, rest);
    return { request, reply, viewer: viewerOf(request), advertiser, path };
  });
}

/** Creates a registrar for pages without a publisher: operator pages and the user's own account. */
export function commonPages(app: App, shell: Shell): Pages<PageContext> {
  return pagesOf(app, shell, '/dashboard', (request, reply) => ({
    request,
    reply,
    viewer: viewerOf(request),
    path: (rest) => `/dashboard${rest}`,
  }));
}

function pagesOf<C extends PageContext>(
  app: App,
  shell: Shell,
  prefix: string,
  contextOf: (request: FastifyRequest, reply: FastifyReply) => C,
): Pages<C> {
  return {
    get: (path, role, show) => {
      app.get(prefix + path, { schema }, async (request, reply) => {
        const context = contextOf(request, reply);
        requireRole(context.viewer, role);
        return send(context, await show(context), shell);
      });
    },
    post: (path, role, act, { isSensitive = false } = {}) => {
      app.post(prefix + path, { schema, config: { isSensitive } }, async (request, reply) => {
        const context = contextOf(request, reply);
        requireRole(context.viewer, role);
        const run = () => act(context, fieldsIn(request), request.upload);
        return send(context, await shell.submitOnce(request, run, isDone), shell);
      });
    },
  };
}

/** Whether the request was sent by htmx, which inserts the response into the current page. */
export const isFragmentRequest = ({ headers }: FastifyRequest): boolean => headers['hx-request'] === 'true';

/**
 * Returns the headers for all dashboard pages:
 * - Scripts and styles may only come from our own files.
 * - Images may come from any https host, because creatives do.
 * - Fonts may only come from `fontOrigin`, if it is set.
 * - The referrer policy is `same-origin`, because the CSRF check needs the origin of submitted forms.
 */
export const pageHeaders = (
  publicUrl: string,
  framedBy = "'none'",
  fontOrigin: string | null = null,
): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' ${publicUrl} https: data:`,
    ...(fontOrigin === null ? [] : [`font-src ${fontOrigin}`]),
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${framedBy}`,
  ].join('; '),
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  ...(framedBy === "'none'" && { 'x-frame-options': 'DENY' }),
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
});

const framedHeaders = (publicUrl: string): Record<string, string> => ({
  ...pageHeaders(publicUrl, "'self'"),
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'",
  'x-frame-options': 'SAMEORIGIN',
});

/**
 * Redirects the browser. For htmx requests, sends a redirect header instead of a 303 response: htmx would follow a 303
 * and insert the whole page in place of a fragment.
 */
export const redirect = (request: FastifyRequest, reply: FastifyReply, to: string): FastifyReply =>
  isFragmentRequest(request)
    ? reply.code(204).header('hx-redirect', to).send()
    : reply.code(303).header('location', to).send();

async function send({ request, reply, viewer }: PageContext, result: PageResult, shell: Shell): Promise<FastifyReply> {
  const { cookies, publicUrl, navigation } = shell;
  const { portal } = request;
  reply.headers(pageHeaders(publicUrl, portal?.frameOrigin));
  if ('to' in result) {
    const { to, done, failed, undo, at = '' } = result;
    if (done !== undefined)
      cookies.setFlash(reply, { kind: 'done', text: done, at, ...(undo !== undefined && { undo }) });
    if (failed !== undefined) cookies.setFlash(reply, { kind: 'failed', text: failed });
    return redirect(request, reply, to);
  }
  if ('download' in result)
    return reply
      .header('content-disposition', `attachment; filename="${result.name}"`)
      .type(result.type)
      .send(result.download);
  if ('framed' in result) return reply.headers(framedHeaders(publicUrl)).send(result.framed);
  if ('fragment' in result) return reply.code(result.status ?? 200).send(result.fragment.markup);
  const flash = cookies.consumeFlash(request, reply);
  if (portal !== null)
    return reply.code(result.status ?? 200).send(renderPortal(result, { portal, viewer, flash, shell }));
  const { openPublisher: publisher, openAdvertiser: advertiser } = request;
  const viewed = publisher ?? advertiser;
  const entries = navigation.filter(({ group }) => (group === 'advertiser') === (publisher === null));
  const counts = viewed === null ? new Map() : await countsFor(entries, viewed.id, viewer.user.id);
  const { status = 200 } = result;
  const isPinnable = request.method === 'GET' && status === 200;
  return reply
    .code(status)
    .send(renderPage(result, { viewer, publisher, advertiser, isPinnable, counts, flash, shell }));
}

/** Uploaded image. `declaredType` is the media type claimed by the client. */
export type Upload = { bytes: Buffer; declaredType: string };

declare module 'fastify' {
  interface FastifyRequest {
    /** Uploaded file of a multipart form, or null if no file was selected. */
    upload: Upload | null;
  }
}

/** Maximum total size of all form fields except the file, in bytes. */
const maxFormBytes = 512 * 1024;
const maxFields = 200;
/**
 * Maximum number of fields in a form without a file. No page comes close. The limit is needed because reading a field
 * takes longer the more fields there are, and a form of the maximum size has room for 200,000 empty fields.
 */
const maxUrlencodedFields = 1000;

/**
 * Registers parsers that convert forms to `URLSearchParams` in `request.body`. A multipart form may contain one file.
 */
export async function registerFormParsing(app: App, maxUploadBytes: number): Promise<void> {
  app.decorateRequest('upload', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: maxFormBytes },
    (_request, body, done) => {
      if (hasTooManyFields(body as string))
        done(
          new AppError('body_too_large', {
            message: new Problem('errors.formManyFields', { max: maxUrlencodedFields }),
          }),
        );
      else done(null, new URLSearchParams(body as string));
    },
  );
  await app.register(multipart, {
    limits: {
      files: 1,
      fields: maxFields,
      parts: maxFields + 1,
      fileSize: maxUploadBytes,
      fieldSize: maxFormBytes,
    },
  });
  app.addHook('preValidation', async (request) => {
    if (!request.isMultipart()) return;
    // If there is no session, do not read the body into memory.
    if (request.viewer === null)
      throw new AppError('unsupported_media_type', { message: new Problem('errors.signInFirst') });
    await readParts(request);
  });
}

function hasTooManyFields(form: string): boolean {
  let count = 1;
  for (let at = form.indexOf('&'); at !== -1 && count <= maxUrlencodedFields; at = form.indexOf('&', at + 1))
    count += 1;
  return count > maxUrlencodedFields;
}

async function readParts(request: FastifyRequest): Promise<void> {
  const params = new URLSearchParams();
  let fieldBytes = 0;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'file') {
        const bytes = await part.toBuffer();
        if (bytes.length > 0) request.upload = { bytes, declaredType: part.mimetype };
      } else if (typeof part.value === 'string') {
        fieldBytes += Buffer.byteLength(part.value);
        // Reject fields over the limit, because the parser would return them truncated.
        if (part.valueTruncated || fieldBytes > maxFormBytes)
          throw new AppError('body_too_large', { message: new Problem('errors.formTooLarge') });
        params.append(part.fieldname, part.value);
      }
    }
  } catch (err) {
    if (err instanceof AppError) throw err;
    const isTooLarge = (err as { statusCode?: number }).statusCode === 413;
    if (isTooLarge) throw new AppError('body_too_large', { message: new Problem('errors.uploadTooLarge'), cause: err });
    throw new AppError('malformed_request', { cause: err });
  }
  request.body = params;
}

/** Registers the handlers that render error pages. */
export function registerErrorPages(app: App, shell: Shell): void {
  const { asset, cookies, publicUrl } = shell;
  app.setErrorHandler((err, request, reply) =>
    asReader(request.reader, () => {
      const error = toAppError(err);
      const { method, url, id, viewer, portal } = request;
      if (error.status >= 500)
        request.log.error(
          { err: error.cause ?? error, method, url: loggedUrl(url), requestId: id },
          'page request failed',
        );
      if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
      reply.code(error.status).headers(pageHeaders(publicUrl, portal?.frameOrigin));
      const title = titleOf(error, shell.isPortal === true && viewer === null);
      const text = textOf(error, shell);
      const body = html`
      <div class="empty">
        <p>${text}</p>
        <p class="hint">${t('errors.request', { id })}</p>
        ${shell.isPortal !== true && linkButton('/dashboard', t('errors.goToDashboard'))}
      </div>`;
      if (viewer === null) return reply.send(renderCard(title, asset, body));
      const flash = cookies.consumeFlash(request, reply);
      if (portal !== null) return reply.send(renderPortal({ title, body }, { portal, viewer, flash, shell }));
      const { openPublisher: publisher, openAdvertiser: advertiser } = request;
      return reply.send(renderPage({ title, body }, { viewer, publisher, advertiser, flash, shell }));
    }),
  );
}

/** Returns the text of an error page. A portal has no dashboard to go to after a wrong address. */
function textOf({ status, problem }: AppError, { isPortal }: Shell): string {
  if (status === 500) return t('errors.failedText');
  if (status !== 404) return wordProblem(problem);
  return t(isPortal === true ? 'errors.portalNotFoundText' : 'errors.notFoundText');
}

/** Returns the title of an error page. `isPortalLink` is true if a portal was opened without a valid session. */
function titleOf({ code, status }: AppError, isPortalLink: boolean): string {
  if (isPortalLink && status === 404) return t('errors.invalidLink');
  if (isPortalLink && status === 403) return t('errors.ended');
  if (code === 'invalid_token') return t('errors.invalidLink');
  if (status === 404) return t('errors.notFound');
  if (status === 403) return t('errors.denied');
  return status >= 500 ? t('errors.failed') : t('errors.refused');
}
