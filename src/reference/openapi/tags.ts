type Tag = { name: string; description: string };

/** Tags of the operations, in the order and groups of the API reference. */
export const tagGroups: readonly { title: string; tags: readonly Tag[] }[] = [
  {
    title: 'Show offers',
    tags: [
      { name: 'Offers', description: 'Fetch offers for a user, browse all of them, and manage what they say.' },
      { name: 'Tracking', description: 'What users see, click and close. The addresses come with the offers.' },
      { name: 'User Selected Perks', description: 'The offers that a user selects and confirms in one session.' },
      { name: 'Wallet', description: 'Offers that users keep for later.' },
      { name: 'Images', description: 'Pictures of creatives, in the size and type that a page needs.' },
      { name: 'Conversions', description: 'What advertisers report of clicks.' },
    ],
  },
  {
    title: 'Receive webhooks',
    tags: [
      { name: 'Webhooks', description: 'What the service sends to your endpoints, and what receivers may ask for.' },
      { name: 'Webhook endpoints', description: 'Where webhooks go, with their secrets and their health.' },
      { name: 'Webhook listeners', description: 'Webhooks on a machine without a public address, while you develop.' },
      { name: 'Deliveries', description: 'Every webhook that was sent or is to be sent, its attempts and redelivery.' },
    ],
  },
  {
    title: 'Manage the catalogue',
    tags: [
      { name: 'Publishers', description: 'Those who show offers, each with settings and data of its own.' },
      { name: 'Placements', description: 'The places where a publisher shows offers.' },
      { name: 'Themes', description: 'Colours and fonts of the units.' },
      { name: 'Advertisers', description: 'Those whom campaigns belong to.' },
      { name: 'Campaigns', description: 'When, to whom and how often offers are shown, and what they pay.' },
      { name: 'Coupons', description: 'Codes of offers: for each user an own one, or one for all.' },
      { name: 'Perk messages', description: 'E-mails to users with the perks that they confirmed.' },
      { name: 'Creatives', description: 'The pictures of offers.' },
      { name: 'Audiences', description: 'Lists of users that campaigns include or exclude.' },
      { name: 'Sources', description: 'What Segment and RudderStack send of users.' },
      { name: 'Users', description: 'What a publisher tells of its users.' },
      { name: 'Sequence rules', description: 'Which offers may follow each other.' },
      { name: 'Experiments', description: 'Who is shown what, and what it adds.' },
      { name: 'Drafts', description: 'Changes of offers and campaigns that wait for approval.' },
      { name: 'Catalogue', description: 'The whole configuration of a publisher as one file.' },
    ],
  },
  {
    title: 'Measure and explain',
    tags: [
      { name: 'Reports', description: 'Sums of what happened, by time and up to four dimensions.' },
      { name: 'Decisions', description: 'Why a request was shown what it was shown.' },
    ],
  },
  {
    title: 'Operate',
    tags: [
      { name: 'Keys', description: 'API keys and what they may do.' },
      { name: 'Roles', description: 'Roles of members that a publisher makes of permissions.' },
      { name: 'Audit', description: 'Who changed what, and when.' },
      { name: 'Privacy', description: 'Erasure and export of what is kept of a user.' },
      { name: 'Health', description: 'Whether a process can take requests.' },
    ],
  },
];

/** Tags in the format of OpenAPI. */
export const tags: readonly Tag[] = tagGroups.flatMap((group) => group.tags);
