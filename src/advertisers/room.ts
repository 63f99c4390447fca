import type { Catalog } from '../catalog/room.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { App } from '../platform/ports.ts';
import type { Reports } from '../reports/room.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import type { Tracking } from '../tracking/room.ts';
import { advertiserPages } from './pages/pages.ts';

type Needs = { catalog: Catalog; reports: Reports; tracking: Tracking };

/** What the accounts of advertisers see and propose: their campaigns, at every publisher that shows them. */
export function createAdvertisers({ catalog, reports, tracking }: Needs) {
  const { kinds, additions, store } = catalog;
  return {
    name: 'advertisers',
    navigation,
    pages: (app: App, shell: Shell, { management }: { management: ManagementClient }) =>
      advertiserPages(app, {
        ...{ ...shell, management, kinds, additions, catalog: store },
        ...{ reports: reports.service, testClick: tracking.testClick },
      }),
  };
}

const entry = (rank: number, key: string, text: NavEntry['text'], icon: NavEntry['icon']): NavEntry => ({
  ...{ group: 'advertiser', rank, key: `advertiser-${key}`, text, path: `/${key}`, icon, role: 'advertiser' },
});

const navigation: readonly NavEntry[] = [
  entry(10, 'campaigns', 'nav.campaigns', 'campaigns'),
  entry(20, 'drafts', 'nav.drafts', 'drafts'),
  entry(30, 'reports', 'nav.reports', 'reports'),
  entry(40, 'conversions', 'advertiser.conversions', 'deliveries'),
  entry(50, 'tracking', 'advertiser.tracking', 'integration'),
  entry(60, 'activity', 'nav.activity', 'activity'),
];
