import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import type { Html } from '../../platform/http/html.ts';
import type { App } from '../../platform/ports.ts';
import type { EndpointDeps } from '../../webhooks/ports.ts';
import type { Role } from '../auth/users.ts';
import type { AssetUrl } from './assets.ts';
import { type Context, type PublisherContext, publisherPath, requireRole, viewerOf } from './context.ts';
import type { Cookies } from './cookies.ts';
import { type Fields, fieldsOf } from './forms.ts';
import { pageHeaders } from './headers.ts';
import { type Page, renderPage } from './layout.ts';
import type { Store } from './management.ts';
import type { Upload } from './uploads.ts';

/** What every page may use. */
export type Tools = { deps: EndpointDeps; asset: AssetUrl; cookies: Cookies; store: Store };

/**
 * What a request comes to: a page; a piece of one, for htmx; or a redirect, with what the next page says once. A
 * refused form is
 * the page again with status 422 and what was typed.
 */
export type Outcome = Page | { fragment: Html; status?: number } | { to: string; done?: string; failed?: string };

/**
 * Registers pages. Each names the role it needs; the address, the session and the form's token are checked before it
 * runs.
 */
export type Pages<C extends Context> = {
  get: (path: string, role: Role, show: (context: C) => Promise<Outcome> | Outcome) => void;
  post: (
    path: string,
    role: Role,
    act: (context: C, fields: Fields, upload: Upload | null) => Promise<Outcome>,
  ) => void;
};

const schema = { hide: true };

/** Pages of one publisher, below `/dashboard/p/{publisherId}`. */
export function publisherPages(app: App, tools: Tools): Pages<PublisherContext> {
  return pagesOf(app, tools, '/dashboard/p/:publisherId', (request, reply) => {
    const publisher = request.viewedPublisher;
    if (publisher === null) throw new AppError('not_found');
    return { request, reply, viewer: viewerOf(request), publisher, path: (rest) => publisherPath(publisher.id, rest) };
  });
}

/** Pages above publishers: the operator's, and everybody's own account. */
export function commonPages(app: App, tools: Tools): Pages<Context> {
  return pagesOf(app, tools, '/dashboard', (request, reply) => ({
    request,
    reply,
    viewer: viewerOf(request),
    path: (rest) => `/dashboard${rest}`,
  }));
}

function pagesOf<C extends Context>(
  app: App,
  tools: Tools,
  prefix: string,
  contextOf: (request: FastifyRequest, reply: FastifyReply) => C,
): Pages<C> {
  return {
    get: (path, role, show) => {
      app.get(prefix + path, { schema }, async (request, reply) => {
        const context = contextOf(request, reply);
        requireRole(context.viewer, role);
        return send(context, await show(context), tools);
      });
    },
    post: (path, role, act) => {
      app.post(prefix + path, { schema }, async (request, reply) => {
        const context = contextOf(request, reply);
        requireRole(context.viewer, role);
        const fields = fieldsOf(request.body instanceof URLSearchParams ? request.body : new URLSearchParams());
        return send(context, await act(context, fields, request.upload), tools);
      });
    },
  };
}

function send({ request, reply, viewer }: Context, outcome: Outcome, tools: Tools): FastifyReply {
  const { cookies, asset, deps } = tools;
  reply.headers(pageHeaders(deps.config.publicUrl));
  if ('to' in outcome) {
    const { to, done, failed } = outcome;
    if (done !== undefined) cookies.setFlash(reply, { kind: 'done', text: done });
    if (failed !== undefined) cookies.setFlash(reply, { kind: 'failed', text: failed });
    // A script's request would follow a redirect by itself and put the whole page where a piece belongs.
    if (request.headers['hx-request'] === 'true') return reply.code(204).header('hx-redirect', to).send();
    return reply.code(303).header('location', to).send();
  }
  if ('fragment' in outcome) return reply.code(outcome.status ?? 200).send(outcome.fragment.markup);
  const flash = cookies.takeFlash(request, reply);
  return reply
    .code(outcome.status ?? 200)
    .send(renderPage(outcome, { viewer, publisher: request.viewedPublisher, flash, asset }));
}
