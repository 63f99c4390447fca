import type { MessageKey } from '../../../platform/i18n/messages.ts';

/**
 * Names of the resources in the audit log, and the paths of their pages. The path is null if a resource has no page.
 * `isSingle` marks resources of which a publisher has only one.
 */
export type LoggedResources = Readonly<
  Record<
    string,
    { title: MessageKey; singular: MessageKey; pathOf: ((id: string) => string) | null; isSingle?: boolean }
  >
>;

export const publisherResources: LoggedResources = {
  offers: { title: 'nav.offers', singular: 'activity.offer', pathOf: (id) => `/offers/${id}` },
  creatives: { title: 'activity.creatives', singular: 'activity.creative', pathOf: null },
  campaigns: { title: 'nav.campaigns', singular: 'activity.campaign', pathOf: (id) => `/campaigns/${id}` },
  provisions: {
    title: 'activity.provisions',
    singular: 'activity.provision',
    pathOf: (id) => `/campaigns/${id.split('/', 1)}/publishers`,
  },
  advertisers: { title: 'nav.advertisers', singular: 'activity.advertiser', pathOf: (id) => `/advertisers/${id}` },
  themes: { title: 'nav.themes', singular: 'activity.theme', pathOf: (id) => `/settings/themes/${id}` },
  placements: {
    title: 'nav.placements',
    singular: 'activity.placement',
    pathOf: (id) => `/settings/placements/${encodeURIComponent(id)}`,
  },
  'sequence-rules': {
    title: 'nav.sequenceRules',
    singular: 'activity.sequenceRule',
    pathOf: (id) => `/settings/sequence-rules/${id}`,
  },
  'metric-alerts': {
    title: 'metricAlerts.title',
    singular: 'metricAlerts.singular',
    pathOf: (id) => `/metric-alerts/${id}`,
  },
  'webhook-endpoints': {
    title: 'nav.webhooks',
    singular: 'activity.webhook',
    pathOf: (id) => `/settings/webhooks/${encodeURIComponent(id)}`,
  },
  keys: { title: 'nav.keys', singular: 'activity.key', pathOf: () => '/settings/keys' },
  users: { title: 'nav.users', singular: 'activity.user', pathOf: () => '/settings/users' },
  roles: { title: 'nav.roles', singular: 'activity.role', pathOf: (id) => `/settings/roles/${id}` },
  publishers: { title: 'nav.settings', singular: 'activity.settings', pathOf: () => '/settings', isSingle: true },
  audiences: {
    title: 'audiences.title',
    singular: 'audiences.singular',
    pathOf: (id) => `/audiences/${encodeURIComponent(id)}`,
  },
  experiments: {
    title: 'experiments.title',
    singular: 'activity.experiment',
    pathOf: (id) => `/experiments/${encodeURIComponent(id)}`,
  },
  drafts: { title: 'nav.drafts', singular: 'drafts.subject', pathOf: (id) => `/drafts/${id}` },
  'coupon-pools': { title: 'coupons.title', singular: 'coupons.title', pathOf: (id) => `/offers/${id}` },
  'perk-messages': {
    title: 'messages.title',
    singular: 'messages.title',
    pathOf: () => '/settings/perk-messages',
    isSingle: true,
  },
  'message-suppressions': {
    title: 'messages.suppressed',
    singular: 'messages.suppressed',
    pathOf: () => '/settings/perk-messages',
    isSingle: true,
  },
  'portal-links': { title: 'portal.links', singular: 'activity.portalLink', pathOf: () => '/settings/portal-links' },
  controls: { title: 'controls.title', singular: 'controls.title', pathOf: () => '/settings/controls', isSingle: true },
  'exchange-rates': {
    title: 'exchangeRates.title',
    singular: 'exchangeRates.title',
    pathOf: () => '/settings/exchange-rates',
    isSingle: true,
  },
  sources: { title: 'sources.title', singular: 'sources.title', pathOf: () => '/settings/sources', isSingle: true },
  erasures: { title: 'activity.erasures', singular: 'activity.erasure', pathOf: () => '/settings/privacy' },
  exports: { title: 'activity.exports', singular: 'activity.export', pathOf: () => '/settings/privacy' },
  catalogue: { title: 'activity.imports', singular: 'activity.import', pathOf: null },
};

export const operatorResources: LoggedResources = {
  users: { title: 'nav.operators', singular: 'activity.operator', pathOf: () => '/operator/users' },
};
