import { eventsPath } from '../events/payload-fields.ts';
import { addressOf, exampleHosts } from './addresses.ts';
import { guideGroups, guidesPath } from './guides.ts';

/**
 * Returns a guide's Markdown with the host of the service and absolute links, so that programs can read it without the
 * repository. Links to files that are not served are replaced by their text.
 * @param file path relative to the package root, for resolving links
 */
export function markdownFor(markdown: string, file: string, publicUrl: string): string {
  const withLinks = (text: string): string =>
    text.replace(linkPattern, (link, mark: string, label: string, href: string) => {
      if (/^[a-z]+:|^#/.test(href)) return link;
      const address = addressOf(href, file);
      if (address === null) return withLinks(label);
      const [path = '', anchor] = address.split('#');
      const suffix = path.startsWith(`${guidesPath}/`) ? '.md' : '';
      const target = `${publicUrl}${path}${suffix}${anchor === undefined ? '' : `#${anchor}`}`;
      return `${mark}[${withLinks(label)}](${target})`;
    });
  return withLinks(markdown.replace(exampleHosts, publicUrl));
}

/** Matches links and images, including images that are links. */
const linkPattern = /(!?)\[((?:!\[[^\]]*\]\([^)\s]*\)|[^\]])*)\]\(([^)\s]+)\)/g;

/** Returns the first sentence of a document's first paragraph, which states its purpose, without markup. */
function purposeOf(markdown: string): string {
  const paragraph = markdown
    .split(/\n\s*\n/)
    .map((block) => block.trim())
    .find((block) => /^[\p{L}*`]/u.test(block));
  const text = (paragraph ?? '')
    .replace(/\s+/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*`]/g, '');
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
}

/**
 * Renders `/llms.txt`: an overview of the documentation for language models, with a link to the Markdown
 * of each guide.
 * @param read loads a document by its path relative to the package root
 */
export async function renderLlmsText(publicUrl: string, read: (file: string) => Promise<string>): Promise<string> {
  const sections = await Promise.all(
    guideGroups.map(async ({ title, guides }) => {
      const links = guides.map(async ({ slug, title: name, file }) => {
        const purpose = purposeOf(await read(file));
        return `- [${name}](${publicUrl}${guidesPath}/${slug}.md)${purpose === '' ? '' : `: ${purpose}`}`;
      });
      return `## ${title}\n\n${(await Promise.all(links)).join('\n')}\n`;
    }),
  );
  return [
    '# Perkwire\n',
    '> Self-hosted offer server and webhook dispatcher for perks: personalised offers at checkout, tracking, and',
    '> signed webhooks with the perks that a user selected.\n',
    `All paths are relative to ${publicUrl}. Calls authenticate with a publisher's API key.\n`,
    '## API\n',
    `- [OpenAPI 3.1 description](${publicUrl}/docs/json): All operations, with an example of each request.`,
    `- [Webhook events](${publicUrl}${eventsPath}.md): All events, with the fields of their payloads and samples.\n`,
    ...sections,
  ].join('\n');
}
