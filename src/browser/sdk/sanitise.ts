import { tryCall } from './try-call.ts';

/** The same as on the server (docs/interface.md#fetch-offers). */
const allowedTags = new Set(
  'p br ul ol li b strong i em u a span div h4 h5 h6 small sup sub table thead tbody tr th td'.split(' '),
);

/** Removed with their content. Of other tags that are not allowed, the content stays. */
const droppedTags = new Set('script style noscript iframe noembed noframes textarea title select xmp'.split(' '));

/** Nesting of elements (count). */
const maxDepth = 40;

type TrustedTypes = {
  createPolicy: (
    name: string,
    rules: { createHTML: (html: string) => string },
  ) => { createHTML: (html: string) => string };
};

/** The terms of an offer as safe nodes: allowed tags, without attributes but https links that open in a new tab. */
export function sanitise(html: string): DocumentFragment {
  const clean = document.createDocumentFragment();
  const parsed = parse(html);
  if (parsed === undefined) clean.append(html.replace(/<[^>]*>/g, ' '));
  else copyInto(clean, parsed.body, 0);
  return clean;
}

/** HTML that the page itself wrote, such as its template. @throws where the page's Trusted Types policy forbids it */
export function parseHtml(html: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  fragment.append(...document.importNode(parseDocument(html).body, true).childNodes);
  return fragment;
}

const parseDocument = (html: string): Document => new DOMParser().parseFromString(trusted(html), 'text/html');

/** An inert document: nothing in it runs or loads. undefined: the page's Trusted Types policy forbids parsing. */
const parse = (html: string): Document | undefined => tryCall(() => parseDocument(html));

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;

/** Pages with Trusted Types can allow the policy `perkwire`. */
function trusted(html: string): string {
  const types = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
  policy ??= types?.createPolicy('perkwire', { createHTML: (text) => text });
  return policy?.createHTML(html) ?? html;
}

function copyInto(target: Node, source: Node, depth: number): void {
  for (const node of source.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) target.appendChild(document.createTextNode(node.nodeValue ?? ''));
    if (node.nodeType !== Node.ELEMENT_NODE || depth > maxDepth) continue;
    const name = (node as Element).localName;
    if (droppedTags.has(name) || (node as Element).namespaceURI !== 'http://www.w3.org/1999/xhtml') continue;
    const tag = name.replace(/^h\d/, 'h4');
    const copy = allowedTags.has(name) ? target.appendChild(document.createElement(tag)) : target;
    if (name === 'a') setLink(copy as HTMLAnchorElement, (node as Element).getAttribute('href') ?? '');
    copyInto(copy, node, depth + 1);
  }
}

function setLink(link: HTMLAnchorElement, href: string): void {
  if (!/^https:\/\//i.test(href) || !URL.canParse(href)) return;
  link.href = href;
  link.target = '_blank';
  link.rel = 'noopener noreferrer nofollow';
}
