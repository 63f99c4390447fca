import { posix } from 'node:path';
import { allGuides, guidesPath, imagesPath } from './guides.ts';

/** Hosts that the documents use for the service. They are replaced with the host that the reader is using. */
export const exampleHosts = /http:\/\/localhost:8080|https:\/\/(?:offers\.example|perks\.example\.com)\b/g;

/** Returns the URL on this site that a link in a document leads to, or null if the target file is not served. */
export function addressOf(href: string, file: string): string | null {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const target = posix.join(posix.dirname(file), path);
  if (target.startsWith('docs/images/')) return `${imagesPath}/${posix.basename(target)}`;
  const guide = allGuides.find((candidate) => candidate.file === target);
  if (guide === undefined) return null;
  return `${guidesPath}/${guide.slug}${anchor === undefined ? '' : `#${anchor}`}`;
}
