import { createOidcProvider, type OidcProvider } from '../accounts/oidc/provider.ts';
import { accountPages } from '../accounts/pages/account.ts';
import { activityPages } from '../accounts/pages/activity/activity-log.ts';
import { forgotPasswordPages } from '../accounts/pages/forgot-password.ts';
import { keyPages } from '../accounts/pages/keys.ts';
import { oneTimeLinkPages } from '../accounts/pages/one-time-link.ts';
import { secondFactorPages } from '../accounts/pages/second-factor.ts';
import { signInPages } from '../accounts/pages/sign-in.ts';
import { callbackPath, singleSignOnPages } from '../accounts/pages/single-sign-on.ts';
import { userPages } from '../accounts/pages/users.ts';
import { alertPages } from '../alerts/pages/alerts.ts';
import { advertiserPages } from '../catalog/pages/campaigns/advertisers.ts';
import { campaignPages } from '../catalog/pages/campaigns/campaigns.ts';
import { provisionPages } from '../catalog/pages/campaigns/provisions.ts';
import { offerPages } from '../catalog/pages/offers/offers.ts';
import { placementPages } from '../catalog/pages/settings/placements.ts';
import { publisherAdminPages } from '../catalog/pages/settings/publishers.ts';
import { sequenceRulePages } from '../catalog/pages/settings/sequence-rules.ts';
import { settingsPages } from '../catalog/pages/settings/settings.ts';
import { themePages } from '../catalog/pages/themes/themes.ts';
import type { OidcSetting } from '../config/oidc.ts';
import { createManagementClient } from '../management/page-client.ts';
import { livePages } from '../offers/pages/live/live.ts';
import { whyPages } from '../offers/pages/why/why.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/ports.ts';
import { explorerPages } from '../reports/pages/explorer/explorer.ts';
import { registerAccessControl, registerSession, signInPath } from '../shell/access.ts';
import { registerAssets } from '../shell/assets.ts';
import { publisherPath, viewerOf } from '../shell/context.ts';
import { registerCookies } from '../shell/cookies.ts';
import { registerErrorPages } from '../shell/error-page.ts';
import { pageHeaders } from '../shell/headers.ts';
import { registerLanguage } from '../shell/language.ts';
import type { PageServices } from '../shell/pages.ts';
import { registerFormParsing } from '../shell/uploads.ts';
import { deliveryPages } from '../webhooks/pages/deliveries/deliveries.ts';
import { redeliveryPages } from '../webhooks/pages/deliveries/redelivery.ts';
import { webhookPages } from '../webhooks/pages/endpoints/endpoints.ts';
import { findPages } from './pages/find/find.ts';
import { integrationPages } from './pages/integration/integration.ts';
import { systemPages } from './pages/operator/system.ts';
import { overviewPages } from './pages/overview.ts';
import type { DashboardDeps } from './ports.ts';

/** Pages that require a session, in any order. */
const pages = [
  accountPages,
  activityPages,
  advertiserPages,
  alertPages,
  campaignPages,
  deliveryPages,
  explorerPages,
  findPages,
  integrationPages,
  keyPages,
  livePages,
  offerPages,
  overviewPages,
  placementPages,
  provisionPages,
  publisherAdminPages,
  redeliveryPages,
  sequenceRulePages,
  settingsPages,
  systemPages,
  themePages,
  userPages,
  webhookPages,
  whyPages,
];

/** The dashboard: server-rendered pages below `/dashboard` for operators and the users of publishers. */
export async function dashboardRoutes(app: App, deps: DashboardDeps): Promise<void> {
  const asset = await registerAssets(app);
  const management = createManagementClient(deps);
  await app.register(async (open: App) => {
    const cookies = await registerCookies(open, deps.config.publicUrl);
    const { mailer, config, now } = deps;
    const provider = config.oidc === null ? null : openProvider(config.oidc, config.publicUrl, now);
    const services: PageServices = { deps, asset, cookies, management, provider };
    registerLanguage(open);
    await registerFormParsing(open);
    registerSession(open, services);
    registerErrorPages(open, services);
    signInPages(open, services);
    secondFactorPages(open, services);
    if (config.oidc !== null && provider !== null)
      singleSignOnPages(open, services, { setting: config.oidc, provider });
    if (config.passwordSignIn) oneTimeLinkPages(open, services);
    if (config.passwordSignIn && mailer !== null) forgotPasswordPages(open, services, mailer);
    await open.register(async (closed: App) => {
      registerAccessControl(closed, services);
      registerStartPage(closed, services);
      for (const register of pages) register(closed, services);
      // Unknown addresses too lead to the sign-in first and answer with the dashboard's error page.
      closed.get('/dashboard/*', { schema: { hide: true } }, async () => {
        throw new AppError('not_found');
      });
    });
  });
}

const openProvider = (setting: OidcSetting, publicUrl: string, now: () => number): OidcProvider =>
  createOidcProvider({
    setting,
    callbackUrl: `${publicUrl}${callbackPath}`,
    signedOutUrl: `${publicUrl}${signInPath}`,
    now,
  });

/** `/dashboard` leads to the publisher's overview; an operator's, to the list of publishers. */
function registerStartPage(app: App, { deps }: PageServices): void {
  app.get('/dashboard', { schema: { hide: true } }, async (request, reply) => {
    const { publisherId } = viewerOf(request).user;
    const to = publisherId === null ? '/dashboard/operator/publishers' : publisherPath(publisherId, '/overview');
    return reply.code(303).headers(pageHeaders(deps.config.publicUrl)).header('location', to).send();
  });
}
