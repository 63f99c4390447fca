/** Who owns a table. The owning room alone writes it. */
export type Ownership = {
  owner: string;
  /** Other rooms that read it in their SQL, each with the reason. */
  readers?: Record<string, string>;
};

const owned = (owner: string, names: readonly string[]): Record<string, Ownership> =>
  Object.fromEntries(names.map((name) => [name, { owner }]));

const conversionOfClick = 'one statement finds the click of a conversion with all that books it, for a whole batch';

export const tables: Record<string, Ownership> = {
  ...owned('platform', ['installation', 'space_probe']),
  ...owned('catalog', [
    ...['api_keys', 'audit_log', 'catalog_changes', 'creative_images', 'creatives', 'idempotency_keys'],
    ...['placements', 'sequence_rules', 'themes'],
  ]),
  advertisers: { owner: 'catalog', readers: { tracking: conversionOfClick } },
  campaigns: { owner: 'catalog', readers: { tracking: conversionOfClick } },
  campaign_publishers: { owner: 'catalog', readers: { tracking: conversionOfClick } },
  catalog_version: { owner: 'catalog', readers: { dashboard: 'the system page compares it with each process' } },
  offers: {
    owner: 'catalog',
    readers: {
      tracking: conversionOfClick,
      embedded: 'the demo shop names the offers of its activity',
      reports: 'sums of a campaign are found by its offers',
    },
  },
  publishers: {
    owner: 'catalog',
    readers: {
      alerts: 'messages name the publisher, in its time zone',
      embedded: 'the demo looks for its own publisher',
      privacy: 'erasures of different publishers take turns',
      reports: 'rollups are bucketed in the time zone of the publisher',
      tracking: conversionOfClick,
      webhooks: 'creating a redelivery locks the row of its publisher, which bounds how many run',
    },
  },
  ...owned('dashboard', ['saved_reports', 'sign_in_failures', 'user_links', 'user_recovery_codes', 'user_sessions']),
  ...owned('offers', [
    ...['campaign_outcomes', 'campaign_usage', 'cap_reservations', 'cap_slices', 'decision_states', 'live_calls'],
    'live_watches',
    'user_history',
  ]),
  sessions: {
    owner: 'offers',
    readers: {
      dashboard: 'live calls show sessions as they are committed',
      embedded: 'the demo shop shows the offers of beacons as their session showed them',
      perks: 'perks and saved offers belong to the offers that a session showed',
      reports: 'rollups count sessions and take the dimensions of events from them',
      tracking: 'clicks and conversions need the placement, user and attributes of their session',
    },
  },
  request_notices: {
    owner: 'offers',
    readers: { dashboard: 'the live page lists what was ignored or refused of requests' },
  },
  ...owned('alerts', ['alert_messages', 'alert_mutes', 'alert_readers', 'alert_rules', 'alerts']),
  users: { owner: 'dashboard', readers: { alerts: 'mails go to users who still have access to the publisher' } },
  ...owned('tracking', ['conversions', 'event_log_positions', 'event_log_rejects']),
  events: {
    owner: 'tracking',
    readers: {
      dashboard: 'live calls show the events of a session',
      embedded: 'the demo shop shows the events of its user',
      reports: 'rollups count events',
    },
  },
  ...owned('perks', ['wallet_items']),
  usp_sessions: { owner: 'perks', readers: { dashboard: 'live calls show the selection of a session' } },
  ...owned('webhooks', [
    ...['delivery_attempts', 'delivery_count_changes', 'delivery_counts', 'dispatcher_workers'],
    ...['endpoint_activity', 'endpoint_health', 'endpoint_test_buckets', 'operational_events', 'redelivery_jobs'],
  ]),
  deliveries: { owner: 'webhooks', readers: { perks: 'the perk funnel counts sessions whose webhook was delivered' } },
  delivery_queue: { owner: 'webhooks', readers: { dashboard: 'the system page shows the size of the queue' } },
  webhook_endpoints: { owner: 'webhooks', readers: { embedded: "the demo's receiver verifies with its own secret" } },
  ...owned('reports', [
    ...['bookings', 'custom_rollups', 'custom_values', 'minute_rollups', 'reconciliation', 'rollup_progress'],
    ...['rollup_publishers'],
  ]),
  rollups: { owner: 'reports', readers: { offers: 'the ranking model learns from counts by placement and offer' } },
  ...owned('privacy', ['erased_sessions', 'erasures']),
  processes: { owner: 'runtime', readers: { dashboard: 'the system page lists processes' } },
};
