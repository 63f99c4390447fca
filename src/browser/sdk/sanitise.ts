import type { TermsRules } from '../../../packages/client/src/terms.ts';
import { tryCall } from './try-call.ts';

/** Nesting of elements (count). */
const maxDepth = 40;

type TrustedTypes = {
  createPolicy: (
    name: string,
    rules: { createHTML: (html: string) => string },
  ) => { createHTML: (html: string) => string };
};

/** The terms of an offer as safe nodes: allowed tags and styles, and https links that open in a new tab. */
export function sanitise(html: string, rules: TermsRules): DocumentFragment {
  const clean = document.createDocumentFragment();
  const parsed = parse(html);
  if (parsed === undefined) clean.append(html.replace(/<[^>]*>/g, ' '));
  else copyInto(clean, parsed.body, rules, 0);
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

function copyInto(target: Node, source: Node, rules: TermsRules, depth: number): void {
  for (const node of source.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) target.appendChild(document.createTextNode(node.nodeValue ?? ''));
    if (node.nodeType !== Node.ELEMENT_NODE || depth > maxDepth) continue;
    const { localName: name, namespaceURI } = node as Element;
    const attributeOf = (attribute: string): string => (node as Element).getAttribute(attribute) ?? '';
    if (rules.dropped.includes(name) || namespaceURI !== 'http://www.w3.org/1999/xhtml') continue;
    let inner = target;
    if (rules.tags.includes(name)) {
      const copy = document.createElement(name.replace(/^h\d/, 'h4'));
      inner = target.appendChild(copy);
      setStyle(copy, attributeOf('style'), rules);
      if (name === 'a') setLink(copy as HTMLAnchorElement, attributeOf('href'));
    }
    copyInto(inner, node, rules, depth + 1);
  }
}

function setStyle({ style }: HTMLElement, text: string, { styles }: TermsRules): void {
  for (const [name, pattern] of Object.entries(styles)) {
    const value = new RegExp(`(?:^|;)\\s*${name}\\s*:\\s*(${pattern})\\s*(?:;|$)`, 'i').exec(text)?.[1];
    if (value !== undefined) style.setProperty(name, value);
  }
}

function setLink(link: HTMLAnchorElement, href: string): void {
  if (!/^https:\/\//i.test(href) || !URL.canParse(href)) return;
  link.href = href;
  link.target = '_blank';
  link.rel = 'noopener noreferrer nofollow';
}
