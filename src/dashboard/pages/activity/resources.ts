/** Resources in the audit log: names, and the path of their page; null: they have none. */
export type LoggedResources = Readonly<
  Record<string, { title: string; singular: string; pathOf: ((id: string) => string) | null }>
>;

export const publisherResources: LoggedResources = {
  offers: { title: 'Offers', singular: 'Offer', pathOf: (id) => `/offers/${id}` },
  creatives: { title: 'Creatives', singular: 'Creative', pathOf: null },
  campaigns: { title: 'Campaigns', singular: 'Campaign', pathOf: (id) => `/campaigns/${id}` },
  provisions: {
    title: 'Campaign publishers',
    singular: 'Campaign publisher',
    pathOf: (id) => `/campaigns/${id.split('/', 1)}/publishers`,
  },
  advertisers: { title: 'Advertisers', singular: 'Advertiser', pathOf: (id) => `/advertisers/${id}` },
  themes: { title: 'Themes', singular: 'Theme', pathOf: (id) => `/settings/themes/${id}` },
  placements: {
    title: 'Placements',
    singular: 'Placement',
    pathOf: (id) => `/settings/placements/${encodeURIComponent(id)}`,
  },
  'sequence-rules': {
    title: 'Sequence rules',
    singular: 'Sequence rule',
    pathOf: (id) => `/settings/sequence-rules/${id}`,
  },
  'webhook-endpoints': {
    title: 'Webhooks',
    singular: 'Webhook',
    pathOf: (id) => `/settings/webhooks/${encodeURIComponent(id)}`,
  },
  keys: { title: 'API keys', singular: 'API key', pathOf: () => '/settings/keys' },
  users: { title: 'Users', singular: 'User', pathOf: () => '/settings/users' },
  publishers: { title: 'Settings', singular: 'Settings', pathOf: () => '/settings' },
  catalogue: { title: 'Imports', singular: 'Import', pathOf: null },
};

export const operatorResources: LoggedResources = {
  users: { title: 'Operators', singular: 'Operator', pathOf: () => '/operator/users' },
};
