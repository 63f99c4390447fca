type Tag = { name: string; description: string };

/** Tags of the operations, in the groups and order that the API reference uses. */
export const tagGroups: readonly { title: string; tags: readonly Tag[] }[] = [
  {
    title: 'Show offers',
    tags: [
      { name: 'Offers', description: 'Fetch offers for a user, browse all offers, and manage their copy.' },
      {
        name: 'Tracking',
        description: 'Record impressions, clicks and other events. The URLs are part of each offer.',
      },
      { name: 'User Selected Perks', description: 'Select offers and confirm them within a session.' },
      { name: 'Wallet', description: 'Save offers for later.' },
      { name: 'Images', description: 'Get the images of creatives in the required size and format.' },
      { name: 'Conversions', description: 'Report conversions as an advertiser.' },
    ],
  },
  {
    title: 'Receive webhooks',
    tags: [
      { name: 'Webhooks', description: 'Webhook payloads, and calls for receivers.' },
      {
        name: 'Webhook endpoints',
        description: 'Configure where webhooks are sent, and check the health of endpoints.',
      },
      { name: 'Webhook listeners', description: 'Receive webhooks during development, without a public URL.' },
      { name: 'Portal', description: 'Embed the webhook pages of a publisher in your website.' },
      { name: 'Deliveries', description: 'Inspect webhook deliveries and their attempts, and send them again.' },
    ],
  },
  {
    title: 'Manage the catalogue',
    tags: [
      { name: 'Publishers', description: 'Manage publishers, who show offers and have their own settings and data.' },
      { name: 'Placements', description: 'Manage the places where a publisher shows offers.' },
      { name: 'Themes', description: 'Manage colours, fonts and settings of units.' },
      { name: 'Advertisers', description: 'Manage the companies that own campaigns.' },
      { name: 'Campaigns', description: 'Manage targeting, schedules, caps, budgets and payouts.' },
      { name: 'Coupons', description: 'Manage coupon codes of offers: one code per user, or one for all users.' },
      { name: 'Perk messages', description: 'Configure and monitor e-mails to users with their confirmed perks.' },
      { name: 'Creatives', description: 'Manage the images of offers.' },
      { name: 'Audiences', description: 'Manage lists of users that campaigns include or exclude.' },
      { name: 'Sources', description: 'Receive user events from Segment and RudderStack.' },
      { name: 'Users', description: 'Manage attributes of users.' },
      { name: 'Sequence rules', description: 'Define which offers can appear together.' },
      { name: 'Experiments', description: 'Compare what users are shown, and measure the difference.' },
      { name: 'Drafts', description: 'Review proposed changes to offers and campaigns.' },
      { name: 'Catalogue', description: 'Export and import the whole configuration of a publisher as one file.' },
    ],
  },
  {
    title: 'Measure and explain',
    tags: [
      { name: 'Reports', description: 'Query aggregated activity by time and up to four dimensions.' },
      { name: 'Decisions', description: 'Explain why a request returned certain offers.' },
      { name: 'Alerts', description: 'Read and mute alerts, and manage the channels that receive them.' },
      { name: 'Metric alerts', description: 'Set metric thresholds at which an alert is sent.' },
    ],
  },
  {
    title: 'Operate',
    tags: [
      { name: 'Keys', description: 'Manage API keys and their permissions.' },
      { name: 'Roles', description: 'Manage custom roles for members of a publisher.' },
      { name: 'Audit', description: 'Read the log of configuration changes.' },
      { name: 'Privacy', description: 'Erase and export the data of users.' },
      { name: 'Health', description: 'Check whether a process can serve requests.' },
    ],
  },
];

/** Tags in OpenAPI format. */
export const tags: readonly Tag[] = tagGroups.flatMap((group) => group.tags);
