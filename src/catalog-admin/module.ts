import type { Catalog } from '../catalog/module.ts';
import type { PageExtensions } from '../catalog/pages.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { Resource } from '../management/resource.ts';
import type { PermissionEntry } from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { approvalPermission } from './approval.ts';
import { catalogueCommands } from './commands.ts';
import { imageRoutes } from './images/routes.ts';
import { createImageStore, saveOriginal } from './images.ts';
import { advertiserPages, campaignPages } from './pages/campaigns/campaigns.ts';
import { createPicker } from './pages/campaigns/options.ts';
import { provisionPages } from './pages/campaigns/provisions.ts';
import { offerPages } from './pages/offers/offers.ts';
import type { PageServices } from './pages/services.ts';
import { controlsPages } from './pages/settings/controls.ts';
import { exchangeRatePages } from './pages/settings/exchange-rates.ts';
import { placementPages } from './pages/settings/placements.ts';
import { publisherAdminPages } from './pages/settings/publishers.ts';
import { sequenceRulePages } from './pages/settings/sequence-rules.ts';
import { settingsPages } from './pages/settings/settings.ts';
import { themePages } from './pages/themes/themes.ts';
import { advertisers } from './resources/advertisers.ts';
import { campaigns } from './resources/campaigns.ts';
import { conversionSecretRoutes } from './resources/conversion-secret-routes.ts';
import { creatives, uploadedCreatives } from './resources/creatives.ts';
import { offers } from './resources/offers.ts';
import { placements } from './resources/placements.ts';
import { applyCatalogRetention, managementRoutes } from './resources/routes.ts';
import { sequenceRules } from './resources/sequence-rules.ts';
import { themes } from './resources/themes.ts';

type PageContributions = { http: ManagementHttp; extensions: PageExtensions; management: ManagementClient };

export type CatalogAdmin = ReturnType<typeof createCatalogAdmin>;

/** Creates the catalog-admin module: REST API, dashboard pages, imports and exports, images and fonts. */
export function createCatalogAdmin({ platform, catalog }: { platform: Platform; catalog: Catalog }) {
  const { pool, dbHealth, logger, config } = platform.deps;
  const { store } = catalog;
  const deps = { catalog: store, config };
  const images = createImageStore(config.imageStore);
  return {
    name: 'catalog-admin',
    rank: 21,
    commands: catalogueCommands,
    /** Resources whose material changes may require approval. */
    kinds: {
      offers,
      creatives,
      campaigns,
      uploads: {
        resource: uploadedCreatives,
        keep: (executor: Executor, creativeId: number, bytes: Buffer): Promise<void> =>
          saveOriginal(executor, images, creativeId, bytes),
      },
    },
    /** Resources whose changes can be reverted from the audit log. */
    revertible: [advertisers, campaigns, offers, placements, sequenceRules, themes] as readonly Resource[],
    /** Creates the picker for the search fields of a page, such as the one for campaigns. */
    pickerFor: createPicker,
    permissions,
    navigation,
    retention: applyCatalogRetention,
    publicRoutes: async (open: App) => void (await open.register(imageRoutes, { pool, dbHealth, config, logger })),
    routes: async (app: App, { http, extensions }: { http: ManagementHttp; extensions: PageExtensions }) => {
      const { imageStore, publicUrl } = config;
      await app.register(conversionSecretRoutes, http);
      await app.register(managementRoutes, { imageStore, publicUrl, http, store, extensions });
    },
    pages: (app: App, shell: Shell, contributions: PageContributions) => {
      const { http, extensions, management: client } = contributions;
      registerPages(app, { ...shell, deps, management: client, extensions, additions: http.additions });
    },
  };
}

const permissions: readonly PermissionEntry[] = [
  { name: 'configurations', role: 'admin', text: 'settings.permissionSettings' },
  { name: approvalPermission, role: 'admin', text: 'settings.permissionApproval' },
  { name: 'offers/management', role: 'manager', text: 'settings.permissionManagement' },
];

function registerPages(app: App, services: PageServices): void {
  for (const register of [
    ...[
      advertiserPages,
      campaignPages,
      controlsPages,
      exchangeRatePages,
      offerPages,
      placementPages,
      provisionPages,
      publisherAdminPages,
    ],
    ...[sequenceRulePages, settingsPages, themePages],
  ])
    register(app, services);
}

const navigation: readonly NavEntry[] = [
  ...(
    [
      { key: 'campaigns', noun: 'nouns.campaign', icon: 'campaigns' },
      { key: 'offers', noun: 'nouns.offer', icon: 'offers' },
      { key: 'advertisers', noun: 'nouns.advertiser', icon: 'advertisers' },
    ] as const
  ).map(({ key, noun, icon }, at) => ({
    group: 'offers' as const,
    rank: 10 + at,
    key,
    text: `nav.${key}` as const,
    words: `navWords.${key}` as const,
    path: `/${key}`,
    icon,
    role: 'analyst' as const,
    adds: { noun, role: 'manager' as const },
  })),
  {
    group: 'offers',
    rank: 20,
    key: 'languages',
    text: 'languages.title',
    words: 'navWords.languages',
    path: '/languages',
    icon: 'languages',
    role: 'analyst',
  },
  {
    group: 'settings',
    rank: 10,
    key: 'settings',
    text: 'nav.general',
    words: 'navWords.general',
    path: '/settings',
    icon: 'settings',
    role: 'analyst',
  },
  ...(
    [
      { key: 'placements', noun: 'nouns.placement' },
      { key: 'themes', noun: 'nouns.theme' },
    ] as const
  ).map(({ key, noun }, at) => ({
    group: 'settings' as const,
    rank: 20 + at,
    key,
    text: `nav.${key}` as const,
    words: `navWords.${key}` as const,
    path: `/settings/${key}`,
    icon: key,
    role: 'analyst' as const,
    adds: { noun, role: 'admin' as const },
  })),
  {
    group: 'audience',
    rank: 30,
    key: 'sequence-rules',
    text: 'nav.sequenceRules',
    words: 'navWords.sequenceRules',
    path: '/settings/sequence-rules',
    icon: 'sequence',
    role: 'analyst',
    adds: { noun: 'nouns.sequence_rule', role: 'admin' },
  },
  {
    group: 'audience',
    rank: 31,
    key: 'controls',
    text: 'controls.title',
    words: 'navWords.controls',
    path: '/settings/controls',
    icon: 'controls',
    role: 'analyst',
  },
  {
    group: 'settings',
    rank: 32,
    key: 'exchange-rates',
    text: 'exchangeRates.title',
    words: 'navWords.exchangeRates',
    path: '/settings/exchange-rates',
    icon: 'rates',
    role: 'analyst',
  },
  {
    group: 'operator',
    rank: 10,
    key: 'publishers',
    text: 'nav.publishers',
    words: 'navWords.publishers',
    path: '/operator/publishers',
    icon: 'publishers',
    role: 'operator',
    adds: { noun: 'nouns.publisher', role: 'operator' },
  },
];
