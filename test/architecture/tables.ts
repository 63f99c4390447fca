/** Ownership of a table. Only the owning module and the modules in `writers` may write to it. */
export type Ownership = {
  owner: string;
  /** Other modules whose statements write to the table together with their own tables, each with the reason. */
  writers?: Record<string, string>;
  /** Other modules that read the table in their SQL, each with the reason. */
  readers?: Record<string, string>;
};

const owned = (owner: string, names: readonly string[]): Record<string, Ownership> =>
  Object.fromEntries(names.map((name) => [name, { owner }]));

const bookedMoney = 'the currency of a campaign is fixed once money is booked';
const conversionOfClick = 'one statement finds the click of a conversion with all that books it, for a whole batch';

const profilesOfUsers = 'one statement reads the histories and the profiles of the users of fetches';

const codeOfAdvertiser = 'advertisers report what became of the codes of their offers';

const rawRows = 'data files have the raw rows of all modules';

const reconciled = 'data files are compared with what reports have counted';

const storyOfSession = 'the search finds a session by any of its ids and shows all that happened in it';

export const tables: Record<string, Ownership> = {
  audit_log: {
    owner: 'management',
    readers: {
      accounts: 'commands verify and export the log, and feeds send it',
      advertisers: 'an advertiser sees what happened to its own rows',
    },
  },
  ...owned('management', ['idempotency_keys']),
  api_keys: {
    owner: 'accounts',
    readers: { catalog: 'the snapshot holds the keys, so that no request queries them' },
  },
  ...owned('accounts', [
    ...['api_key_uses', 'audit_feed_positions', 'audit_feeds', 'member_roles'],
    'sign_in_failures',
    'user_links',
    'user_passkeys',
    'user_recovery_codes',
    'user_sessions',
  ]),
  ...owned('landing-pages', ['landing_check_buckets', 'landing_pages']),
  ...owned('audiences', [
    'audience_facts',
    'audience_growth',
    'audience_imports',
    'audience_progress',
    'audience_sizes',
  ]),
  audience_members: { owner: 'audiences', readers: { budgets: profilesOfUsers } },
  user_attributes: { owner: 'audiences', readers: { budgets: profilesOfUsers } },
  audiences: {
    owner: 'audiences',
    readers: {
      catalog: 'the snapshot has their ids by the keys that campaigns name',
      'catalog-admin': 'a campaign may name only audiences that exist',
    },
  },
  ...owned('forecasts', ['forecasts']),
  ...owned('sources', ['segment_sources', 'source_events', 'source_moments']),
  ...owned('experiments', [
    ...['experiment_currencies', 'experiment_moments', 'experiment_money', 'experiment_outcomes'],
    ...['experiment_points', 'experiment_progress', 'experiment_units'],
  ]),
  own_outcomes: {
    owner: 'experiments',
    readers: { audiences: 'rules of audiences follow what publishers say of users' },
  },
  experiments: {
    owner: 'experiments',
    readers: { catalog: 'the snapshot holds them, so that no request queries them' },
  },
  ...owned('learning', ['learning_progress', 'model_versions', 'ranking_progress', 'ranking_versions']),
  ...owned('budgets', ['cap_leases', 'cap_reservations', 'cap_slices']),
  campaign_usage: { owner: 'budgets', readers: { 'catalog-admin': bookedMoney } },
  user_history: { owner: 'budgets', readers: { offers: 'the sessions of a user are found by its keys' } },
  ...owned('event-log', ['event_log_positions', 'event_log_rejects']),
  ...owned('platform', ['installation', 'space_probe']),
  ...owned('catalog', [
    ...['catalog_changes', 'catalog_publisher_changes', 'creative_images', 'creatives', 'sequence_rules'],
  ]),
  placements: { owner: 'catalog', readers: { drafts: 'a comparison shows the names of placements' } },
  exchange_rates: { owner: 'catalog' },
  themes: { owner: 'catalog', readers: { experiments: 'arms name themes that exist' } },
  advertisers: {
    owner: 'catalog',
    readers: {
      tracking: conversionOfClick,
      coupons: codeOfAdvertiser,
      drafts: 'drafts of trusted advertisers are approved by themselves',
      accounts: 'accounts of an advertiser open its pages alone',
    },
  },
  ...owned('drafts', ['draft_mails', 'draft_pictures', 'draft_views']),
  drafts: { owner: 'drafts', readers: { advertisers: 'the activity log of an advertiser has its drafts' } },
  campaigns: {
    owner: 'catalog',
    readers: {
      dashboard: storyOfSession,
      reports: 'rows of earlier releases do not name their currency, which is that of the campaign',
      experiments: 'rows of earlier releases do not name their currency, which is that of the campaign',
      drafts: 'a draft names its campaign; an advertiser proposes for its own alone',
      advertisers: 'an advertiser sees its own campaigns alone',
      coupons: codeOfAdvertiser,
      tracking: conversionOfClick,
      audiences: 'an audience that a campaign names is not removed; rules count by advertiser and category',
      offers: 'lists of campaigns are filtered by delivery states, which follow from their rules and usage',
      'landing-pages': 'its page is looked at as it is by now, in the statement that takes what is due',
    },
  },
  campaign_publishers: {
    owner: 'catalog',
    readers: {
      drafts: 'drafts of campaigns that other publishers serve are approved by operators',
      advertisers: 'an advertiser sees who is served its campaigns',
      tracking: conversionOfClick,
      experiments: 'a campaign that is held out is served to the publisher',
    },
  },
  catalog_version: { owner: 'catalog', readers: { dashboard: 'the system page compares it with each process' } },
  offers: {
    owner: 'catalog',
    readers: {
      drafts: 'an image draft is listed under its offer',
      advertisers: 'the activity log of an advertiser is that of its own offers',
      coupons: 'a pool belongs to an offer of the publisher',
      tracking: conversionOfClick,
      demo: 'the demo shop names the offers of its activity',
      'landing-pages': 'pages of secondary actions are looked at, and campaigns without an active offer left alone',
      reports: 'sums of a campaign are found by its offers',
    },
  },
  publishers: {
    owner: 'catalog',
    readers: {
      advertisers: 'an advertiser sees the names of publishers that are served its campaigns',
      drafts: 'proposing locks the row of the publisher, which bounds how many drafts wait',
      messages: 'messages name the publisher',
      'data-files':
        'publishers choose how the files name their users, and all of them get an alert if the files are late',
      'landing-pages': 'a publisher may have its landing pages left alone',
      accounts: 'a key lives no longer than its publisher allows',
      alerts: 'messages name the publisher, in its time zone',
      audiences: 'making an audience locks the row of its publisher, which bounds how many there are',
      demo: 'the demo looks for its own publisher',
      experiments: 'changes of experiments lock the row of their publisher',
      privacy: 'erasures of different publishers take turns',
      reports: 'rollups are bucketed in the time zone of the publisher',
      tracking: conversionOfClick,
      webhooks: 'creating a redelivery locks the row of its publisher, which bounds how many run',
    },
  },
  ...owned('offers', ['api_call_counts', 'api_calls', 'campaign_outcomes', 'decision_states']),
  ...owned('offers', ['live_calls', 'live_watches', 'request_notices']),
  sessions: {
    owner: 'offers',
    writers: { budgets: 'one statement stores sessions and checks or changes the histories and slices of their users' },
    readers: {
      'data-files': rawRows,
      dashboard: storyOfSession,
      audiences: 'erasures and exports find the user by the hashes of e-mail addresses that its sessions had',
      budgets: 'caps are counted for the user of a session, whom its events do not name',
      experiments: 'sums of experiments are made of what their users did',
      demo: 'the demo shop shows the offers of beacons as their session showed them',
      learning: 'events are learned from with what their session said of its user',
      perks: 'perks and saved offers belong to the offers that a session showed',
      reports: 'rollups count sessions and take the dimensions of events from them',
      tracking: 'clicks and conversions need the placement, user and attributes of their session',
      forecasts: 'forecasts repeat decisions of sessions, and count the visits of their users',
    },
  },
  ...owned('messages', [
    ...['message_confirmations', 'message_feedback_calls', 'message_suppressions'],
    'perk_message_settings',
  ]),
  perk_messages: { owner: 'messages', readers: { dashboard: storyOfSession, 'data-files': rawRows } },
  ...owned('coupons', ['coupon_blocks', 'coupon_loads', 'coupon_stock']),
  coupons: { owner: 'coupons', readers: { dashboard: storyOfSession } },
  coupon_pools: { owner: 'coupons', readers: { catalog: 'the snapshot says which offers have codes' } },
  ...owned('alerts', ['alert_messages', 'alert_mutes', 'alert_readers', 'alert_rules', 'alerts', 'metric_alerts']),
  memberships: {
    owner: 'accounts',
    readers: {
      advertisers: 'the activity log names accounts of the advertiser alone',
      drafts: 'decisions before an account joined are not new to it',
      reports: 'reports are sent to members of the publisher',
    },
  },
  users: {
    owner: 'accounts',
    readers: {
      advertisers: 'the activity log names accounts of the advertiser alone',
      alerts: 'mails go to users',
      drafts: 'so do mails about decisions',
      reports: 'so do mails of scheduled reports',
    },
  },
  conversions: {
    owner: 'tracking',
    readers: {
      'data-files': rawRows,
      audiences: 'rules of audiences count conversions of one name',
      dashboard: storyOfSession,
      reports: 'the rows behind a number have the names and transactions of conversions',
    },
  },
  events: {
    owner: 'tracking',
    writers: { budgets: 'one statement stores a "no thanks" and the opt-out that only a new one causes' },
    readers: {
      'data-files': rawRows,
      dashboard: storyOfSession,
      audiences: 'rules of audiences count what users did',
      experiments: 'sums of experiments are made of what their users did',
      learning: 'the ranking model learns from impressions and clicks',
      budgets: 'money for conversions is kept only where there is a click',
      offers: 'live calls show the events of a session',
      demo: 'the demo shop shows the events of its user',
      reports: 'rollups count events',
      forecasts: 'forecasts need to know which offers of sampled sessions were seen and clicked',
    },
  },
  ...owned('perks', ['wallet_items']),
  usp_sessions: {
    owner: 'perks',
    readers: {
      'data-files': rawRows,
      dashboard: storyOfSession,
      demo: 'examples of the API reference name a session whose perks are open',
      offers: 'live calls show the selection of a session',
    },
  },
  ...owned('webhooks', [
    'pull_cursors',
    ...['delivery_count_changes', 'delivery_counts', 'dispatcher_workers'],
    ...['endpoint_activity', 'endpoint_health', 'endpoint_test_buckets', 'operational_events', 'redelivery_jobs'],
  ]),
  delivery_attempts: { owner: 'webhooks', readers: { 'data-files': rawRows } },
  deliveries: {
    owner: 'webhooks',
    readers: {
      'data-files': rawRows,
      dashboard: storyOfSession,
      demo: 'examples of the API reference name the latest delivery',
      reports: 'the perk funnel and the list of its sessions have the sessions whose webhook was delivered',
    },
  },
  delivery_queue: { owner: 'webhooks', readers: { dashboard: 'the system page shows the size of the queue' } },
  ...owned('portal', ['portal_links']),
  webhook_endpoints: { owner: 'webhooks', readers: { demo: "the demo's receiver verifies with its own secret" } },
  ...owned('reports', [
    ...['custom_rollup_money', 'minute_money'],
    ...['custom_rollups', 'custom_values', 'minute_rollups', 'reach_pending', 'reach_sketches', 'report_schedules'],
    ...['rollup_publishers', 'rollups', 'saved_reports'],
  ]),
  reconciliation: { owner: 'reports', readers: { 'data-files': reconciled } },
  rollup_progress: { owner: 'reports', readers: { 'data-files': reconciled } },
  rollup_money: { owner: 'reports', readers: { 'catalog-admin': bookedMoney } },
  bookings: {
    owner: 'reports',
    readers: {
      'data-files': rawRows,
      audiences: 'rules of audiences count conversions',
      experiments: 'sums of experiments are made of what their users did',
      learning: 'the ranking model learns from conversions',
    },
  },
  ...owned('privacy', ['erased_sessions', 'erasures']),
  ...owned('data-files', ['data_file_erasures', 'data_file_plain_publishers', 'data_file_runs']),
  ...owned('dashboard', ['processes']),
};
