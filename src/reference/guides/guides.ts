/** A page of the guides: its address below /docs/guides, and its Markdown file from the root of the package. */
export type Guide = { slug: string; title: string; file: string };

const guide = (slug: string, title: string): Guide => ({ slug, title, file: `docs/guides/${slug}.md` });
const document = (slug: string, title: string): Guide => ({ slug, title, file: `docs/${slug}.md` });

/** Every page, in the order of the navigation; the first one is the entrance. */
export const guideGroups: readonly { title: string; guides: readonly Guide[] }[] = [
  {
    title: 'Start',
    guides: [
      { slug: 'start', title: 'Quick start', file: 'README.md' },
      guide('web', 'Web and Node'),
      guide('ios', 'iOS'),
      guide('android', 'Android'),
      guide('react-native', 'React Native'),
      guide('flutter', 'Flutter'),
    ],
  },
  {
    title: 'Integrate',
    guides: [
      guide('receiving-webhooks', 'Receiving webhooks'),
      guide('audiences', 'Audiences'),
      guide('advertisers', 'Advertisers and drafts'),
      guide('conversions', 'Conversions'),
      guide('management-api', 'Management API'),
      document('command-line', 'Command line'),
      document('interface', 'Interface'),
    ],
  },
  {
    title: 'Understand',
    guides: [
      guide('how-a-decision-is-made', 'How a decision is made'),
      guide('dispatcher', 'The dispatcher'),
      guide('reports', 'Reports'),
      guide('experiments', 'Experiments'),
      guide('dashboard', 'The dashboard in pictures'),
      document('reading-input', 'How Perkwire reads input'),
      document('promises', 'Promises'),
      document('glossary', 'Glossary'),
    ],
  },
  {
    title: 'Operate',
    guides: [
      document('operations', 'Operations'),
      guide('single-sign-on', 'Single sign-on'),
      document('scale', 'Scale'),
      document('performance', 'Performance'),
    ],
  },
];

export const allGuides: readonly Guide[] = guideGroups.flatMap(({ guides }) => guides);

export const guidesPath = '/docs/guides';

/** Where the pictures of docs/images are. */
export const picturesPath = '/docs/images';
