/**
 * Guide page. `slug` is the last segment of its path below /docs/guides; `file` is the path of its Markdown file,
 * relative to the package root.
 */
export type Guide = { slug: string; title: string; file: string };

const guide = (slug: string, title: string): Guide => ({ slug, title, file: `docs/guides/${slug}.md` });
const reference = (slug: string, title: string): Guide => ({ slug, title, file: `docs/reference/${slug}.md` });
const document = (slug: string, title: string): Guide => ({ slug, title, file: `docs/${slug}.md` });

/** All guide pages in navigation order. The first page is the start page. */
export const guideGroups: readonly { title: string; guides: readonly Guide[] }[] = [
  {
    title: 'Start',
    guides: [
      { slug: 'start', title: 'Get started', file: 'docs/get-started.md' },
      { slug: 'overview', title: 'Overview', file: 'README.md' },
      guide('web', 'Show offers on the web'),
      guide('ios', 'Show offers in an iOS app'),
      guide('android', 'Show offers in an Android app'),
      guide('react-native', 'Show offers in a React Native app'),
      guide('flutter', 'Show offers in a Flutter app'),
    ],
  },
  {
    title: 'Integrate',
    guides: [
      guide('receiving-webhooks', 'Receive webhooks'),
      guide('destinations', 'Pull events or send them to a broker'),
      guide('transformations', 'Transform webhooks'),
      guide('portal', 'Embed webhooks in your own website'),
      guide('audiences', 'Target your own audiences'),
      guide('advertisers', 'Advertisers and drafts'),
      guide('conversions', 'Conversions'),
      guide('management-api', 'Manage publishers and offers over REST'),
      document('command-line', 'Command line'),
      guide('agents', 'Connect an AI agent'),
    ],
  },
  {
    title: 'Reference',
    guides: [
      document('interface', 'API contract'),
      reference('access-and-errors', 'Access and errors'),
      reference('fetch-offers', 'Fetch offers'),
      reference('themes-and-rendering', 'Themes and rendering'),
      reference('tracking-and-conversions', 'Tracking and conversions'),
      reference('perks-and-wallet', 'Perks and wallet'),
      reference('users-and-privacy', 'Users and privacy'),
      reference('webhooks', 'Webhooks'),
      reference('budgets-and-goals', 'Budgets and goals'),
      reference('experiments-and-outcomes', 'Experiments and outcomes'),
      reference('management', 'Management'),
      reference('debugging', 'Debugging'),
      reference('web-sdk', 'Web SDK'),
      reference('operations-health', 'Health and API reference'),
    ],
  },
  {
    title: 'Understand',
    guides: [
      guide('how-a-decision-is-made', 'How a decision is made'),
      guide('dispatcher', 'Operate the webhook dispatcher'),
      guide('reports', 'Reports'),
      guide('experiments', 'Run experiments'),
      guide('forecasts', 'Forecast campaigns'),
      guide('dashboard', 'Use the dashboard'),
      document('reading-input', 'How Perkwire reads input'),
      document('promises', 'Promises'),
      document('glossary', 'Glossary'),
    ],
  },
  {
    title: 'Operate',
    guides: [
      document('operations', 'Operations'),
      document('monitoring', 'Monitoring'),
      document('configuration', 'Configuration'),
      guide('data-files', 'Data files'),
      guide('single-sign-on', 'Single sign-on'),
      document('scale', 'Scale'),
      document('performance', 'Performance'),
      document('releases', 'Releases'),
    ],
  },
];

export const allGuides: readonly Guide[] = guideGroups.flatMap(({ guides }) => guides);

export const guidesPath = '/docs/guides';

/** URL path of the images in docs/images. */
export const imagesPath = '/docs/images';
