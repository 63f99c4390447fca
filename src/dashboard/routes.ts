import { AppError } from '../platform/errors.ts';
import { toAppError } from '../platform/http/error-handler.ts';
import { html } from '../platform/http/html.ts';
import { loggedUrl } from '../platform/logger.ts';
import type { App } from '../platform/ports.ts';
import type { EndpointDeps } from '../webhooks/ports.ts';
import { accountPages } from './pages/account/account.ts';
import { startPages } from './pages/account/one-time-link.ts';
import { signInPages } from './pages/account/sign-in.ts';
import { userPages } from './pages/account/users.ts';
import { activityPages } from './pages/activity/activity-log.ts';
import { advertiserPages } from './pages/campaigns/advertisers.ts';
import { campaignPages } from './pages/campaigns/campaigns.ts';
import { provisionPages } from './pages/campaigns/provisions.ts';
import { deliveryPages } from './pages/deliveries/deliveries.ts';
import { integrationPages } from './pages/integration/integration.ts';
import { offerPages } from './pages/offers/offers.ts';
import { publisherAdminPages } from './pages/operator/publishers.ts';
import { systemPages } from './pages/operator/system.ts';
import { overviewPages } from './pages/reports/overview.ts';
import { keyPages } from './pages/settings/keys.ts';
import { placementPages } from './pages/settings/placements.ts';
import { sequenceRulePages } from './pages/settings/sequence-rules.ts';
import { settingsPages } from './pages/settings/settings.ts';
import { themePages } from './pages/themes/themes.ts';
import { webhookPages } from './pages/webhooks/endpoints.ts';
import { registerAdmission, registerViewer } from './shell/access.ts';
import { registerAssets } from './shell/assets.ts';
import { publisherPath, viewerOf } from './shell/context.ts';
import { createCookies } from './shell/cookies.ts';
import { pageHeaders } from './shell/headers.ts';
import { renderCard, renderPage } from './shell/layout.ts';
import { createStore } from './shell/management.ts';
import type { Tools } from './shell/pages.ts';
import { registerFormParsing } from './shell/uploads.ts';

/** Pages behind the sign-in, each file by itself; the order does not matter. */
const pages = [
  accountPages,
  activityPages,
  advertiserPages,
  campaignPages,
  deliveryPages,
  integrationPages,
  keyPages,
  offerPages,
  overviewPages,
  placementPages,
  provisionPages,
  publisherAdminPages,
  sequenceRulePages,
  settingsPages,
  systemPages,
  themePages,
  userPages,
  webhookPages,
];

/** The dashboard: server-rendered pages at /dashboard for operators and publishers. */
export async function dashboardRoutes(app: App, deps: EndpointDeps): Promise<void> {
  const tools: Tools = {
    deps,
    asset: await registerAssets(app),
    cookies: createCookies(deps.config.publicUrl),
    store: createStore(deps),
  };
  await app.register(async (open: App) => {
    await registerFormParsing(open);
    registerViewer(open, tools);
    sayToPeople(open, tools);
    signInPages(open, tools);
    startPages(open, tools);
    await open.register(async (closed: App) => {
      registerAdmission(closed, tools);
      closed.get('/dashboard', { schema: { hide: true } }, async (request, reply) => {
        const { user } = viewerOf(request);
        const location =
          user.publisherId === null ? '/dashboard/operator/publishers' : publisherPath(user.publisherId, '/overview');
        return reply.code(303).headers(pageHeaders(deps.config.publicUrl)).header('location', location).send();
      });
      for (const register of pages) register(closed, tools);
      // Every other address, so that it meets the sign-in and the form of these pages.
      closed.get('/dashboard/*', { schema: { hide: true } }, async () => {
        throw new AppError('not_found');
      });
    });
  });
}

/** Refusals become pages. */
function sayToPeople(app: App, { deps, asset, cookies }: Tools): void {
  app.setErrorHandler((err, request, reply) => {
    const error = toAppError(err);
    if (error.status >= 500)
      request.log.error(
        { err: error.cause ?? error, method: request.method, url: loggedUrl(request.url), requestId: request.id },
        'page failed',
      );
    if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
    reply.code(error.status).headers(pageHeaders(deps.config.publicUrl));
    const title =
      error.status === 404
        ? 'There is nothing here'
        : error.status === 403
          ? 'Not allowed'
          : error.status >= 500
            ? 'This did not work'
            : 'Refused';
    const text = error.status === 404 ? 'The address is wrong, or what was here is gone.' : error.message;
    const body = html`<div class="empty"><p>${text}</p><p class="hint">Request ${request.id}</p><a class="button" href="/dashboard">To the start</a></div>`;
    if (request.viewer === null) return reply.send(renderCard(title, asset, body));
    const flash = cookies.takeFlash(request, reply);
    return reply.send(
      renderPage({ title, body }, { viewer: request.viewer, publisher: request.viewedPublisher, flash, asset }),
    );
  });
}
