import { timingSafeEqual } from 'node:crypto';
import cookiePlugin, { type CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import { csrfTokenOf, requireCsrfToken, requireSameOrigin } from '../accounts/access.ts';
import type { CatalogStore } from '../catalog/store.ts';
import { audit } from '../management/audit.ts';
import { createSubmitOnce } from '../management/idempotency.ts';
import { portalActor } from '../management/page-client.ts';
import type { Management } from '../management/unit-of-work.ts';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { isUuid7 } from '../platform/lib/uuid7.ts';
import { Problem } from '../platform/problem.ts';
import { hashToken, isToken } from '../platform/security/random-token.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import {
  type Cookies,
  flashCookie,
  type Portal,
  type PortalPermission,
  type PortalTheme,
  portalPath,
  registerLanguage,
  useLanguageOf,
  type Viewer,
} from '../shell/context.ts';
import type { AssetUrl, Shell } from '../shell/layout.ts';
import type { Navigation } from '../shell/navigation.ts';
import { pageHeaders, registerErrorPages, registerFormParsing } from '../shell/pages.ts';
import { findLink, findLinkByToken, type PortalLink, startSession } from './links.ts';
import { loggedLink, openPath, portalResource } from './manage.ts';

export type PortalPageDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  management: Management;
  secretBox: SecretBox;
  config: { publicUrl: string };
  now: () => number;
};

type Embedded = {
  asset: AssetUrl;
  navigation: Navigation;
  /** Registers the pages that portals can show. */
  registerPages: (app: App, shell: Shell, isOpen: (id: string) => Promise<boolean>) => void;
};

/** First page of a portal, by permission. */
const startPages: readonly (readonly [PortalPermission, string])[] = [
  ['deliveries', '/deliveries'],
  ['endpoints', '/settings/webhooks/all'],
  ['live', '/live'],
];

const prefix = '/portal/:portalId';
const schema = { hide: true };

/**
 * Registers the pages of portals. They are the pages of the dashboard, with their own session: the cookie of a portal
 * is valid only for its path, and dashboard cookies are not valid for portals.
 */
export async function portalPages(app: App, deps: PortalPageDeps, embedded: Embedded): Promise<void> {
  const { publicUrl } = deps.config;
  await app.register(async (scope: App) => {
    await scope.register(cookiePlugin);
    const flash = flashCookie('perkwire_portal_flash', { ...cookieAttributes, path: '/portal' });
    const { asset, navigation } = embedded;
    const submitOnce = createSubmitOnce(deps);
    const cookies = { ...noCookies, ...flash };
    const shell: Shell = { asset, navigation, publicUrl, cookies, submitOnce, isPortal: true };
    for (const name of ['portal', 'viewer', 'viewedPublisher', 'viewedAdvertiser', 'openPublisher', 'openAdvertiser'])
      scope.decorateRequest(name, null);
    registerLanguage(scope);
    await registerFormParsing(scope, 0);
    registerErrorPages(scope, shell);
    openRoute(scope, deps);
    await scope.register(async (closed: App) => {
      registerPortalSession(closed, deps);
      closed.get(`${prefix}/theme.css`, { schema }, async (request, reply) =>
        reply
          .type('text/css')
          .header('cache-control', 'no-store')
          .send(themeCss((request.portal as Portal).theme)),
      );
      closed.get(`${prefix}/*`, { schema, exposeHeadRoute: false }, async () => {
        throw new AppError('not_found');
      });
      embedded.registerPages(closed, shell, async (id) => {
        const link = await findLink(deps.pool, id);
        return link !== null && link.sessionHash !== null && isLive(link, deps);
      });
    });
  });
}

/**
 * Attributes of portal cookies. A frame of another website gets only cookies with `SameSite=None`. Partitioned cookies
 * are also allowed by browsers that block those of third parties, and are not sent from any other website.
 */
const cookieAttributes: CookieSerializeOptions = { httpOnly: true, secure: true, sameSite: 'none', partitioned: true };

const cookieName = (id: string): string => `__Secure-perkwire_portal_${id}`;

/** Cookies of the dashboard, which portals neither read nor set. */
const noCookies: Cookies = {
  session: () => null,
  setSession: () => {},
  endSession: () => {},
  publisher: () => null,
  setPublisher: () => {},
  setFlash: () => {},
  setPending: () => {},
  consumePending: () => null,
  consumeFlash: () => null,
};

/** Whether a link has not expired, was not revoked, and its API key still has the right to create it. */
function isLive({ portal, expiresMs, isRevoked }: PortalLink, { catalog, now }: PortalPageDeps): boolean {
  if (isRevoked || expiresMs <= now()) return false;
  const { keys, publishers } = catalog.current();
  const key = [...keys.values()].find(({ id }) => id === portal.keyId);
  if (key === undefined || (key.expiresAtMs !== null && key.expiresAtMs <= now())) return false;
  const isOwn = key.publisherId === portal.publisherId && key.permissions.has('configurations');
  return publishers.has(portal.publisherId) && (isOwn || key.permissions.has('accounts'));
}

const ended = (): AppError => new AppError('permission_denied', { message: new Problem('portal.ended') });

/** Registers the route that opens a link once and starts its session. */
function openRoute(app: App, deps: PortalPageDeps): void {
  const { pool, management, config, now } = deps;
  const failFast = createFailFast(deps.dbHealth);
  app.get<{ Params: { token: string } }>(
    `${openPath}:token`,
    { schema, exposeHeadRoute: false },
    async (request, reply) => {
      const { token } = request.params;
      const link = isToken(token) ? await failFast(() => findLinkByToken(pool, token)) : null;
      if (link === null) throw new AppError('not_found');
      const { portal, expiresMs } = link;
      request.portal = portal;
      useLanguageOf(request, portal);
      if (!isLive(link, deps)) throw ended();
      const session = await management.write(portalActor(portal), portal.publisherId, async (work) => {
        const started = await startSession(work.executor, portal.id, work.nowMs);
        const after = loggedLink(portal);
        if (started !== null) await audit(work, { resource: portalResource, action: 'sign_in', before: after, after });
        return started;
      });
      if (session === null) throw new AppError('permission_denied', { message: new Problem('portal.used') });
      const [, start = ''] = startPages.find(([permission]) => portal.permissions.includes(permission)) ?? [];
      return reply
        .setCookie(cookieName(portal.id), session, {
          ...cookieAttributes,
          path: portalPath(portal.id),
          maxAge: Math.max(1, Math.floor((expiresMs - now()) / 1000)),
        })
        .headers({ ...pageHeaders(config.publicUrl, portal.frameOrigin), 'referrer-policy': 'no-referrer' })
        .code(303)
        .header('location', portalPath(portal.id, start))
        .send();
    },
  );
}

/** Registers the checks of each request: the session, the permission, and for forms their origin and CSRF token. */
function registerPortalSession(app: App, deps: PortalPageDeps): void {
  const failFast = createFailFast(deps.dbHealth);
  app.addHook('onRequest', async (request: FastifyRequest) => {
    const id = (request.params as { portalId?: string }).portalId ?? '';
    const link = isUuid7(id) ? await failFast(() => findLink(deps.pool, id)) : null;
    if (link === null) throw new AppError('not_found');
    const { portal } = link;
    request.portal = portal;
    useLanguageOf(request, portal);
    requireSameOrigin(request, deps.config.publicUrl);
    const token = request.cookies[cookieName(portal.id)] ?? '';
    const isSession =
      link.sessionHash !== null && isToken(token) && timingSafeEqual(hashToken(token), link.sessionHash);
    if (!isSession || !isLive(link, deps)) throw ended();
    requirePermission(request, portal);
    request.viewer = viewerOf(link, token);
    await deps.catalog.ready(portal.publisherId);
    request.viewedPublisher = deps.catalog.current().publishers.get(portal.publisherId) ?? null;
    request.openPublisher = request.viewedPublisher;
  });
  app.addHook('preHandler', async (request: FastifyRequest, _reply: FastifyReply) => {
    requireCsrfToken(request);
    // The user of a portal cannot confirm their identity.
    if (request.routeOptions.config.isSensitive === true) throw denied();
  });
}

const denied = (): AppError => new AppError('permission_denied', { message: new Problem('errors.roleDenied') });

/** Permissions to read a page and to submit its forms, by the start of the page's path. */
const pagePermissions: readonly (readonly [path: string, read: PortalPermission, write: PortalPermission | null])[] = [
  ['/deliveries', 'deliveries', 'deliveries/resend'],
  ['/settings/webhooks', 'endpoints', 'endpoints/edit'],
  ['/live', 'live', null],
];

/**
 * Checks the permission for a request. Other pages are denied.
 * @throws AppError `permission_denied`
 */
function requirePermission({ routeOptions, method }: FastifyRequest, { permissions }: Portal): void {
  const path = (routeOptions.url ?? '').slice(prefix.length);
  if (path === '/theme.css' || path === '/*') return;
  const [, read, write] = pagePermissions.find(([start]) => path === start || path.startsWith(`${start}/`)) ?? [];
  const permission = method === 'GET' || method === 'HEAD' ? read : write;
  if (permission === undefined || permission === null || !permissions.includes(permission)) throw denied();
}

/** Permissions of a custom role with which the pages show and accept the actions of a portal. */
const rolePermissions: Partial<Record<PortalPermission, string>> = {
  'deliveries/resend': 'offers/management',
  'endpoints/edit': 'configurations',
};

/** Returns the user of a portal as a viewer of the dashboard's pages. */
function viewerOf({ portal }: PortalLink, token: string): Viewer {
  const permissions = portal.permissions.flatMap((name) => rolePermissions[name] ?? []);
  return {
    user: {
      id: 0,
      email: portal.userLabel,
      membershipId: 0,
      role: { id: 0, name: 'portal', permissions },
      publisherId: portal.publisherId,
      advertiserId: null,
      hasJoined: true,
      hasPassword: false,
      hasTwoFactor: false,
      hasAuthenticatorApp: false,
      isLinked: false,
      disabled: false,
      language: portal.language,
      createdAt: new Date(0),
    },
    publisherIds: [portal.publisherId],
    advertiserIds: [],
    sessionId: portal.id,
    confirmedMs: 0,
    byProvider: false,
    sessionToken: token,
    csrf: csrfTokenOf(token),
  };
}

/** Returns the relative luminance of a colour such as `#1f5f4a` (WCAG 2). */
function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(colour.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Luminance above which black text has more contrast than white text. */
const lightFrom = 0.179;

function tokensOf(accent: string, mixedWith: 'black' | 'white'): string {
  return `:root {
    --accent: ${accent};
    --accent-hover: color-mix(in srgb, ${accent} 82%, ${mixedWith});
    --on-accent: ${luminanceOf(accent) > lightFrom ? '#000000' : '#ffffff'};
    --accent-soft: color-mix(in srgb, ${accent} 14%, var(--surface));
  }`;
}

/** Returns the style sheet with the colours of a portal. All colours have the format `#rrggbb`. */
function themeCss({ accent_color: light, accent_color_dark: dark }: PortalTheme): string {
  const rules = [
    light !== undefined && `@media (prefers-color-scheme: light) { ${tokensOf(light, 'black')} }`,
    dark !== undefined && `@media (prefers-color-scheme: dark) { ${tokensOf(dark, 'white')} }`,
  ];
  return rules.filter((rule) => rule !== false).join('\n');
}
