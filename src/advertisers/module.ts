import type { Accounts } from '../accounts/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { CatalogAdmin } from '../catalog-admin/module.ts';
import { registerPreviewFrame } from '../catalog-admin/offer-preview.ts';
import type { Drafts } from '../drafts/module.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import type { Reports } from '../reports/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { pagesOfAdvertiser } from '../shell/pages.ts';
import type { Tracking } from '../tracking/module.ts';
import { activityPage } from './pages/activity.ts';
import { proposeCampaign } from './pages/campaign-form.ts';
import { campaignPage, campaignsPage } from './pages/campaigns.ts';
import { conversionsPage, trackingPage } from './pages/conversions.ts';
import { draftImage, draftPage, draftsPage, withdrawDraft } from './pages/drafts.ts';
import { newOfferPage, offerPage, proposeImage, proposeOffer, revisePage } from './pages/offer-editor.ts';
import { reportCsv, reportPage } from './pages/reports.ts';
import type { PageServices } from './pages/services.ts';
import { reportRoute } from './routes.ts';

type AdvertisersDeps = {
  platform: Platform;
  catalog: Catalog;
  catalogAdmin: CatalogAdmin;
  accounts: Accounts;
  drafts: Drafts;
  reports: Reports;
  tracking: Tracking;
};

/** Creates the advertisers module: advertiser accounts, their campaigns at all publishers, and proposed changes. */
export function createAdvertisers({ platform, catalog, catalogAdmin, drafts, reports, tracking }: AdvertisersDeps) {
  const { kinds } = catalogAdmin;
  const { store } = catalog;
  return {
    name: 'advertisers',
    rank: 220,
    navigation: navigationOf(drafts),
    routes: async (app: App, { http }: { http: ManagementHttp }) =>
      reportRoute(app, { http, now: platform.deps.now, reports: reports.service, catalog: store }),
    pages: (app: App, shell: Shell, { http, management }: { http: ManagementHttp; management: ManagementClient }) =>
      advertiserPages(app, {
        ...shell,
        management,
        kinds,
        drafts,
        additions: http.additions,
        catalog: store,
        reports: reports.service,
        testClick: tracking.testClick,
      }),
  };
}

const entry = (rank: number, key: string, text: NavEntry['text'], icon: NavEntry['icon']): NavEntry => ({
  group: 'advertiser',
  rank,
  key: `advertiser-${key}`,
  text,
  path: `/${key}`,
  icon,
  role: 'advertiser',
});

const navigationOf = ({ countNewDecisions }: Drafts): readonly NavEntry[] => [
  entry(10, 'campaigns', 'nav.campaigns', 'campaigns'),
  {
    ...entry(20, 'drafts', 'nav.drafts', 'drafts'),
    count: (advertiserId, userId) => countNewDecisions({ advertiserId, userId }),
    countText: 'advertiser.newDecisions',
  },
  entry(30, 'reports', 'nav.reports', 'reports'),
  entry(40, 'conversions', 'advertiser.conversions', 'deliveries'),
  entry(50, 'tracking', 'advertiser.tracking', 'integration'),
  entry(60, 'activity', 'nav.activity', 'activity'),
];

/** Registers the pages for advertiser accounts, whose users can propose changes but not publish them. */
function advertiserPages(app: App, services: PageServices): void {
  const { get, post } = pagesOfAdvertiser(app, services);
  const role = 'advertiser';
  registerPreviewFrame(app, '/dashboard/a/:advertiserId/preview', services);
  get('', role, (context) => campaignsPage(services, context));
  get('/campaigns', role, (context) => campaignsPage(services, context));
  get('/campaigns/:key', role, (context) => campaignPage(services, context));
  post('/campaigns/:key', role, (context, fields) => proposeCampaign(services, context, fields));
  get('/offers/new', role, (context) => newOfferPage(services, context));
  post('/offers', role, (context, fields, upload) => proposeOffer(services, context, fields, { isNew: true, upload }));
  get('/offers/:key', role, (context) => offerPage(services, context));
  post('/offers/:key', role, (context, fields, upload) =>
    proposeOffer(services, context, fields, { isNew: false, upload }),
  );
  post('/offers/:key/pictures', role, (context, fields, upload) => proposeImage(services, context, fields, upload));
  get('/drafts', role, (context) => draftsPage(services, context));
  get('/drafts/:key', role, (context) => draftPage(services, context));
  get('/drafts/:key/edit', role, (context) => revisePage(services, context));
  get('/drafts/:key/picture', role, (context) => draftImage(services, context));
  post('/drafts/:key/withdraw', role, (context) => withdrawDraft(services, context));
  get('/reports', role, (context) => reportPage(services, context));
  get('/reports/csv', role, (context) => reportCsv(services, context));
  get('/conversions', role, (context) => conversionsPage(services, context));
  get('/tracking', role, (context) => trackingPage(services, context));
  get('/activity', role, (context) => activityPage(services, context));
}
