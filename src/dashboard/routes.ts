import { type AccessDeps, homeOf, registerAccessControl, registerSession } from '../accounts/access.ts';
import { sessionLifetimeMs } from '../accounts/sessions.ts';
import type { Snapshot } from '../catalog/types.ts';
import { maxUploadBytes } from '../catalog-admin/images.ts';
import { createSubmitOnce } from '../management/idempotency.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { type Cookies, publisherPath, registerCookies, registerLanguage, viewerOf } from '../shell/context.ts';
import { type AssetUrl, registerAssets, type Shell } from '../shell/layout.ts';
import type { Navigation } from '../shell/navigation.ts';
import { pageHeaders, registerErrorPages, registerFormParsing } from '../shell/pages.ts';

/** Dashboard pages that other modules contribute. */
type Pages = {
  navigation: Navigation;
  /** Registers pages that can be opened without signing in. */
  registerOpen: (app: App, shell: Shell) => Promise<void>;
  registerClosed: (app: App, shell: Shell) => void;
  registerFramed: (app: App, asset: AssetUrl) => Promise<void>;
};

type StartDeps = AccessDeps & { catalog: { current: () => Snapshot }; secretBox: SecretBox };

/** Registers the dashboard routes: server-rendered pages under `/dashboard` for operators and publishers' users. */
export async function dashboardRoutes(app: App, { deps, ...pages }: Pages & { deps: StartDeps }): Promise<void> {
  const asset = await registerAssets(app);
  const { publicUrl } = deps.config;
  await pages.registerFramed(app, asset);
  await app.register(async (open: App) => {
    const cookies = await registerCookies(open, publicUrl, sessionLifetimeMs);
    const shell: Shell = {
      asset,
      cookies,
      publicUrl,
      navigation: pages.navigation,
      submitOnce: createSubmitOnce(deps),
    };
    registerLanguage(open);
    await registerFormParsing(open, maxUploadBytes);
    registerSession(open, { deps, cookies });
    registerErrorPages(open, shell);
    await pages.registerOpen(open, shell);
    await open.register(async (closed: App) => {
      registerAccessControl(closed, { deps, cookies });
      registerStartPage(closed, { deps, cookies });
      pages.registerClosed(closed, shell);
      // Require sign-in even for unknown URLs, before showing the dashboard's error page.
      closed.get('/dashboard/*', { schema: { hide: true } }, async () => {
        throw new AppError('not_found');
      });
    });
  });
}

/**
 * Redirects `/dashboard` to the overview page of the publisher that was opened last in this browser. If there is none
 * that the user may open, members are redirected to their own publisher. Operators are redirected to the only publisher
 * or to the list of publishers.
 */
function registerStartPage(app: App, { deps, cookies }: { deps: StartDeps; cookies: Cookies }): void {
  const { config, catalog } = deps;
  app.get('/dashboard', { schema: { hide: true } }, async (request, reply) => {
    const { user, publisherIds } = viewerOf(request);
    const { publishers } = catalog.current();
    const [first, second] = publishers.keys();
    const lastId = cookies.publisher(request) ?? 0;
    const mayOpen = user.role === 'operator' ? publishers.has(lastId) : publisherIds.includes(lastId);
    const onlyId = second === undefined ? (first ?? null) : null;
    const startPublisherId = mayOpen ? lastId : (user.publisherId ?? onlyId);
    const start =
      startPublisherId === null ? '/dashboard/operator/publishers' : publisherPath(startPublisherId, '/overview');
    const to = user.advertiserId === null ? start : homeOf(user);
    return reply.code(303).headers(pageHeaders(config.publicUrl)).header('location', to).send();
  });
}
