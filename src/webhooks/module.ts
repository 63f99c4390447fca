import type { Accounts } from '../accounts/module.ts';
import type { Catalog } from '../catalog/module.ts';
import { maxFontBytes } from '../catalog/pages.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import { userAgent } from '../platform/version.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { createEndpointActivity } from './activity/activity.ts';
import { auditEventJob, auditRecorded } from './audit-event.ts';
import { webhookCommands } from './commands.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import { eraseDeliveriesOfSessions, eraseDeliveriesOfUser, exportDeliveries } from './deliveries/user-data.ts';
import { withDestinations } from './destinations/sender.ts';
import { countFailing } from './endpoint-store.ts';
import { endpointRoutes } from './endpoints/routes.ts';
import type { EventTypes } from './events.ts';
import { applyWebhookRetention, webhookJobs } from './jobs.ts';
import { listenRoutes } from './listen/routes.ts';
import { createDispatcherMetrics, registerWebhookGauges } from './metrics.ts';
import { operationalEventTypes } from './operational/event-types.ts';
import { deliveryPages } from './pages/deliveries/deliveries.ts';
import { redeliveryPages } from './pages/deliveries/redelivery.ts';
import { webhookPages } from './pages/endpoints/endpoints.ts';
import { eventTypePages, eventTypesPath } from './pages/event-types.ts';
import { payloadRoutes } from './payload-link.ts';
import { pullPermission, pullRoutes } from './pull/routes.ts';
import { raiseFacts } from './raise-events.ts';
import { cancelRedeliveriesOfUser } from './redelivery/jobs.ts';
import { redeliveryRoutes } from './redelivery/routes.ts';
import { createSender } from './sender.ts';
import { createTransformer } from './transformations/transform.ts';
import { createFetchFile } from './url-rules.ts';

export type Webhooks = ReturnType<typeof createWebhooks>;

type WebhooksDeps = { platform: Platform; catalog: Catalog; accounts: Accounts };

/**
 * Creates the webhooks module. A webhook is stored in the same transaction as its cause, and is sent until it is
 * delivered or no attempt is left.
 */
export function createWebhooks({ platform, catalog, accounts }: WebhooksDeps) {
  const { config, metrics, pool, dbHealth, logger, tracing, secretBox, now } = platform.deps;
  const outgoing = {
    allowNets: config.webhookAllowNets,
    allowHttp: config.webhookAllowHttp,
    proxy: config.webhookProxy,
    userAgent,
  };
  const sender = withDestinations(createSender(outgoing), outgoing);
  const fontSender = createSender({ ...outgoing, maxResponseBytes: maxFontBytes });
  registerWebhookGauges(metrics.registry, pool, now);
  const activity = createEndpointActivity(now);
  const dispatcherMetrics = createDispatcherMetrics(metrics.registry);
  const { management } = catalog;
  const { auth, checkKey } = accounts;
  const transformer = createTransformer();
  const deps = { config, pool, dbHealth, secretBox, sender, transformer, management, auth, now };
  const delivery = { logger, tracing, activity, dispatcherMetrics };
  return {
    name: 'webhooks',
    rank: 80,
    commands: webhookCommands,
    sender,
    transformer,
    activity,
    dispatcherMetrics,
    raiseFacts,
    extensions: { fetchFont: createFetchFile(fontSender, maxFontBytes) },
    permissions: [{ name: pullPermission, role: 'admin', text: 'settings.permissionEvents' }] as const,
    eventTypes: [...operationalEventTypes, auditRecorded],
    navigation: navigationOf((publisherId) =>
      dbHealth.isUp() ? countFailing(pool, publisherId).catch(() => 0) : Promise.resolve(0),
    ),
    retention: applyWebhookRetention,
    userData: {
      eraseBeforeSessions: eraseDeliveriesOfSessions,
      eraseOfUser: [cancelRedeliveriesOfUser, eraseDeliveriesOfUser],
      exports: { webhooks: exportDeliveries },
    },
    routes: async (app: App, { events }: { events: EventTypes }) => {
      const routeDeps = { ...deps, events };
      await app.register(payloadRoutes, routeDeps);
      await app.register(endpointRoutes, routeDeps);
      await app.register(listenRoutes, { ...routeDeps, ...delivery, checkKey });
      await app.register(pullRoutes, { ...routeDeps, ...delivery, checkKey });
      await app.register(deliveryRoutes, routeDeps);
      await app.register(redeliveryRoutes, routeDeps);
    },
    pages: (app: App, shell: Shell, contributions: { events: EventTypes; management: ManagementClient }) => {
      const services = {
        ...shell,
        deps: { ...deps, events: contributions.events },
        management: contributions.management,
      };
      for (const register of [deliveryPages, redeliveryPages, webhookPages, eventTypePages]) register(app, services);
    },
    jobs: () => [...webhookJobs({ ...deps, ...delivery }, platform.databaseUrl), auditEventJob(pool, now)],
    close: async () => {
      transformer.close();
      await Promise.all([sender.close(), fontSender.close()]);
    },
  };
}

const navigationOf = (count: (publisherId: number) => Promise<number>): readonly NavEntry[] => [
  {
    group: 'developers',
    rank: 30,
    key: 'webhooks',
    text: 'nav.webhooks',
    words: 'navWords.webhooks',
    path: '/settings/webhooks',
    icon: 'webhooks',
    role: 'analyst',
    count,
    countText: 'endpointStatus.failing',
  },
  {
    group: 'developers',
    rank: 35,
    key: 'event-types',
    text: 'eventTypes.title',
    words: 'navWords.eventTypes',
    path: eventTypesPath,
    icon: 'activity',
    role: 'analyst',
  },
  {
    group: 'developers',
    rank: 40,
    key: 'deliveries',
    text: 'nav.deliveries',
    words: 'navWords.deliveries',
    path: '/deliveries',
    icon: 'deliveries',
    role: 'analyst',
  },
];
