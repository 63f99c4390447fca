import type { FastifyReply, FastifyRequest } from 'fastify';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/ports.ts';
import { comesFromOurPages } from '../auth/same-origin.ts';
import { findSession } from '../auth/sessions.ts';
import { csrfTokenOf, sameToken } from '../auth/tokens.ts';
import type { Tools } from './pages.ts';

export const signInPath = '/dashboard/sign-in';

/**
 * Finds out who calls, and that a form came from one of our pages. Open pages call this too: they show who is signed in
 * already.
 */
export function registerViewer(app: App, { deps, cookies }: Tools): void {
  const { pool, dbHealth, now, config } = deps;
  const guarded = createFailFast(dbHealth);
  app.decorateRequest('viewer', null);
  app.decorateRequest('viewedPublisher', null);
  app.addHook('onRequest', async (request) => {
    if (!isRead(request) && !comesFromOurPages(request, config.publicUrl)) throw foreignForm();
    const token = cookies.session(request);
    if (token === null) return;
    const user = await guarded(() => findSession(pool, token, now()));
    if (user !== null) request.viewer = { user, sessionToken: token, csrf: csrfTokenOf(token) };
  });
}

/**
 * For everything behind the sign-in: a live session, the form's token, and the publisher of the address where there is
 * one.
 */
export function registerAdmission(app: App, { deps: { catalog } }: Tools): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.viewer === null) return toSignIn(request, reply);
    const { publisherId } = request.params as { publisherId?: string };
    if (publisherId === undefined) return;
    const { user } = request.viewer;
    const id = /^[1-9]\d{0,9}$/.test(publisherId) ? Number(publisherId) : 0;
    // Another publisher's address is as if there were none.
    if (user.role !== 'operator' && user.publisherId !== id) throw new AppError('not_found');
    if (user.role === 'operator' && !catalog.current().publishers.has(id)) await catalog.refresh();
    request.viewedPublisher = catalog.current().publishers.get(id) ?? null;
    if (request.viewedPublisher === null) throw new AppError('not_found');
  });
  app.addHook('preHandler', async (request) => {
    if (isRead(request) || request.viewer === null) return;
    const header = request.headers['x-csrf-token'];
    const given =
      typeof header === 'string'
        ? header
        : request.body instanceof URLSearchParams
          ? (request.body.get('_csrf') ?? '')
          : '';
    if (!sameToken(request.viewer.csrf, given)) throw foreignForm();
  });
}

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

const foreignForm = (): AppError =>
  new AppError('permission_denied', {
    message: 'The form is out of date or came from another site. Load the page anew and try again.',
  });

/** Back to where somebody wanted to go, once signed in. */
function toSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const wanted =
    isRead(request) && request.headers['hx-request'] !== 'true' && request.url !== '/dashboard' ? request.url : null;
  const location = wanted === null ? signInPath : `${signInPath}?next=${encodeURIComponent(wanted)}`;
  reply.header('cache-control', 'no-store');
  if (request.headers['hx-request'] === 'true') return reply.code(204).header('hx-redirect', location).send();
  return reply.code(303).header('location', location).send();
}

/** An address of ours to go to after the sign-in; the dashboard where there is none or it leads elsewhere. */
export function nextPath(next: string): string {
  const url = next.startsWith('/dashboard/') && URL.canParse(next, 'http://here') ? new URL(next, 'http://here') : null;
  return url !== null && url.origin === 'http://here' && url.pathname.startsWith('/dashboard/')
    ? url.pathname + url.search
    : '/dashboard';
}
