import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import type { CatalogStore } from '../catalog/store.ts';
import type { Config } from '../config.ts';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { Problem } from '../platform/problem.ts';
import {
  advertiserPath,
  type Cookies,
  csrfFieldName,
  csrfHeader,
  formOf,
  idIn,
  publisherPath,
  type User,
  useLanguageOf,
  type ViewedAdvertiser,
  type ViewedPublisher,
  type Viewer,
} from '../shell/context.ts';
import { isFragmentRequest, redirect } from '../shell/pages.ts';
import { findAdvertiser } from './advertisers.ts';
import { chooseMembership } from './memberships.ts';
import { findSession } from './sessions.ts';
import { isTwoFactorRequired } from './two-factor.ts';

/** Returns the path of the start page for a membership. */
export const homeOf = ({ publisherId, advertiserId }: User): string => {
  if (advertiserId !== null) return advertiserPath(advertiserId);
  return publisherId === null ? '/dashboard' : publisherPath(publisherId, '/overview');
};

export const signInPath = '/dashboard/sign-in';
/** Path of the page for setting up two-factor authentication. */
export const twoFactorPath = '/dashboard/account/two-factor';

/** Dependencies of the session and form checks. */
export type AccessDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  config: Config;
  now: () => number;
};

/**
 * Registers the hooks for all pages, including public ones. They read the session and reject cross-site form
 * submissions.
 */
export function registerSession(app: App, { deps, cookies }: { deps: AccessDeps; cookies: Cookies }): void {
  const { pool, dbHealth, now, config } = deps;
  const failFast = createFailFast(dbHealth);
  app.decorateRequest('portal', null);
  app.decorateRequest('viewer', null);
  app.decorateRequest('viewedPublisher', null);
  app.decorateRequest('viewedAdvertiser', null);
  app.decorateRequest('openPublisher', null);
  app.decorateRequest('openAdvertiser', null);
  app.addHook('onRequest', async (request) => {
    requireSameOrigin(request, config.publicUrl);
    const token = cookies.session(request);
    if (token === null) return;
    const session = await failFast(() => findSession(pool, token, now()));
    if (session === null || !(config.passwordSignIn || session.byProvider)) return;
    const { id: sessionId, ...viewer } = session;
    useLanguageOf(request, viewer.user);
    request.viewer = { ...viewer, sessionId, sessionToken: token, csrf: csrfTokenOf(token) };
  });
}

/**
 * Registers the hooks for pages that require sign-in. They check:
 * - the session
 * - the second factor, if it is mandatory
 * - access to the publisher in the URL
 * - the CSRF token
 *
 * They also determine whose navigation is shown.
 */
export function registerAccessControl(app: App, { deps, cookies }: { deps: AccessDeps; cookies: Cookies }): void {
  const { pool, dbHealth, catalog, config } = deps;
  const failFast = createFailFast(dbHealth);
  app.addHook('onRequest', async (request, reply) => {
    if (request.viewer === null) return toSignIn(request, reply);
    if (mustSetUpTwoFactor(config, request, request.viewer)) return redirect(request, reply, twoFactorPath);
    const { publisherId, advertiserId } = request.params as { publisherId?: string; advertiserId?: string };
    if (advertiserId !== undefined) {
      await failFast(() => openAdvertiser(pool, request, idIn(advertiserId)));
      await catalog.ready((request.viewedAdvertiser as ViewedAdvertiser).publisherId);
      return;
    }
    const { viewer } = request;
    request.openPublisher = lastPublisher(request, viewer, { deps, cookies });
    if (publisherId === undefined) {
      const { advertiserId: ownId } = viewer.user;
      if (ownId !== null) request.openAdvertiser = await failFast(() => findAdvertiser(pool, ownId));
      return;
    }
    const id = idIn(publisherId);
    const isOperator = viewer.user.role === 'operator';
    if (!isOperator && viewer.user.publisherId !== id) {
      const isMember = viewer.publisherIds.includes(id);
      const member = isMember
        ? await failFast(() => chooseMembership(pool, viewer.sessionId, { publisherId: id }))
        : null;
      // Respond as if the page did not exist, so that other publishers' pages are not revealed.
      if (member === null) throw new AppError('not_found');
      request.viewer = { ...viewer, user: member };
    }
    if (isOperator && !catalog.current().publishers.has(id)) await catalog.refresh();
    await catalog.ready(id);
    request.viewedPublisher = catalog.current().publishers.get(id) ?? null;
    if (request.viewedPublisher === null) throw new AppError('not_found');
    request.openPublisher = request.viewedPublisher;
    cookies.setPublisher(request, reply, id);
  });
  app.addHook('preHandler', async (request) => {
    requireCsrfToken(request);
  });
}

/**
 * Rejects state-changing requests that come from other websites.
 * @throws AppError `permission_denied`
 */
export function requireSameOrigin(request: FastifyRequest, publicUrl: string): void {
  if (!isRead(request) && !isSameOrigin(request.headers, publicUrl)) throw csrfError();
}

/**
 * Rejects state-changing requests of a session without its CSRF token.
 * @throws AppError `permission_denied`
 */
export function requireCsrfToken(request: FastifyRequest): void {
  if (isRead(request) || request.viewer === null) return;
  if (!isCsrfToken(request.viewer.csrf, submittedCsrfToken(request))) throw csrfError();
}

/** Adds a check that runs before the handlers of sensitive forms, but after the session and CSRF checks. */
export function beforeSensitive(
  app: App,
  check: (request: FastifyRequest, reply: FastifyReply, viewer: Viewer) => Promise<FastifyReply | undefined>,
): void {
  app.addHook('preHandler', async (request, reply) => {
    if (request.viewer !== null && request.routeOptions.config.isSensitive === true)
      return check(request, reply, request.viewer);
  });
}

/**
 * Checks that the user may open an advertiser's page. Only the advertiser's own users and operators may.
 * @throws AppError `not_found`, as if the page did not exist, so that other advertisers' pages are not revealed
 */
async function openAdvertiser(pool: pg.Pool, request: FastifyRequest, id: number): Promise<void> {
  const viewer = request.viewer as Viewer;
  if (viewer.user.role !== 'operator' && viewer.user.advertiserId !== id) {
    const isMember = viewer.advertiserIds.includes(id);
    const member = isMember ? await chooseMembership(pool, viewer.sessionId, { advertiserId: id }) : null;
    if (member === null) throw new AppError('not_found');
    request.viewer = { ...viewer, user: member };
  }
  request.viewedAdvertiser = await findAdvertiser(pool, id);
  if (request.viewedAdvertiser === null) throw new AppError('not_found');
  request.openAdvertiser = request.viewedAdvertiser;
}

/**
 * Returns the publisher that the viewer opened last, or null. For members, it is the publisher of the session's
 * membership, whose role applies. For operators, it is the publisher of the browser's cookie, if it still exists.
 */
function lastPublisher(
  request: FastifyRequest,
  { user }: Viewer,
  { deps, cookies }: { deps: AccessDeps; cookies: Cookies },
): ViewedPublisher | null {
  const id = user.role === 'operator' ? cookies.publisher(request) : user.publisherId;
  return id === null ? null : (deps.catalog.current().publishers.get(id) ?? null);
}

/**
 * Returns whether the user must first set up a mandatory second factor. Until then, only the set-up pages are
 * accessible. Users who signed in at the OpenID provider are exempt, because the provider has its own second factor.
 */
const mustSetUpTwoFactor = (config: Config, { url }: FastifyRequest, { user, byProvider }: Viewer): boolean =>
  !byProvider &&
  !user.hasTwoFactor &&
  isTwoFactorRequired(config, user) &&
  !/^\/dashboard\/(account\/(two-factor|passkeys)|sign-out)$/.test(url);

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

function submittedCsrfToken(request: FastifyRequest): string {
  const header = request.headers[csrfHeader];
  return typeof header === 'string' ? header : (formOf(request).get(csrfFieldName) ?? '');
}

const csrfError = (): AppError =>
  new AppError('permission_denied', {
    message: new Problem('errors.expiredForm'),
  });

/** Redirects to the sign-in page. After signing in, the user returns to the requested page. */
function toSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const next = isRead(request) && !isFragmentRequest(request) && request.url !== '/dashboard' ? request.url : null;
  reply.header('cache-control', 'no-store');
  return redirect(request, reply, next === null ? signInPath : `${signInPath}?next=${encodeURIComponent(next)}`);
}

/**
 * Returns the dashboard path to open after sign-in. To prevent open redirects, returns `/dashboard` for any other URL.
 */
export function nextPath(next: string): string {
  const base = 'http://dashboard';
  const url = next.startsWith('/dashboard/') ? parseUrl(next, base) : null;
  return url !== null && url.origin === base && url.pathname.startsWith('/dashboard/')
    ? url.pathname + url.search
    : '/dashboard';
}

/** Returns the CSRF token that every form in a session must contain. The session token cannot be derived from it. */
export const csrfTokenOf = (sessionToken: string): string =>
  createHmac('sha256', sessionToken).update('csrf').digest('base64url');

function isCsrfToken(expected: string, token: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Returns whether a state-changing request comes from our own pages. It checks `sec-fetch-site`, and that the origin is
 * the public URL or the request's host. Requests without an origin are allowed: they do not come from a browser, so
 * they carry no user's cookies.
 */
function isSameOrigin(headers: IncomingHttpHeaders, publicUrl: string): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  if (origin === undefined || origin === publicUrl) return true;
  return host !== undefined && parseUrl(origin)?.host === host.toLowerCase();
}
