import type { TermsRules } from '../../../packages/client/src/terms.ts';
import { parseUrl } from './compat.ts';
import { tryCall } from './try-call.ts';

/** Maximum nesting depth of HTML elements. */
const maxDepth = 40;

type TrustedTypes = {
  createPolicy: (
    name: string,
    rules: { createHTML: (html: string) => string },
  ) => { createHTML: (html: string) => string };
};

/**
 * Converts an offer's terms to safe nodes. Only allowed tags, allowed styles and https links are retained. Links open
 * in a new tab.
 */
export function sanitise(html: string, rules: TermsRules): DocumentFragment {
  const clean = document.createDocumentFragment();
  const parsed = parse(html);
  if (parsed === undefined) clean.append(html.replace(/<[^>]*>/g, ' '));
  else tryCall(() => copyInto(clean, parsed.body, rules, 0)); // a form can hide the members of its element
  return clean;
}

/**
 * Parses HTML from the page itself, such as its template.
 * @throws if the page's Trusted Types policy does not allow it
 */
export function parseHtml(html: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  fragment.append(...document.importNode(parseDocument(html).body, true).childNodes);
  return fragment;
}

const parseDocument = (html: string): Document => new DOMParser().parseFromString(trusted(html), 'text/html');

/**
 * Parses HTML into an inert document, in which nothing runs or loads. Returns undefined if the page's Trusted Types
 * policy does not allow parsing.
 */
const parse = (html: string): Document | undefined => tryCall(() => parseDocument(html));

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;

/**
 * Creates trusted HTML with the `perkwire` policy. Pages that enforce Trusted Types must allow this policy in their
 * CSP.
 */
function trusted(html: string): string {
  const types = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
  policy ??= types?.createPolicy('perkwire', { createHTML: (text) => text });
  return policy?.createHTML(html) ?? html;
}

/** Copies only HTML elements. SVG and MathML content is skipped. */
function copyInto(target: Element | DocumentFragment, source: Node, rules: TermsRules, depth: number): void {
  for (const node of source.childNodes) {
    if (node instanceof Text) target.append(node.data);
    if (!(node instanceof HTMLElement) || depth > maxDepth || rules.dropped.includes(node.localName)) continue;
    const attributeOf = (attribute: string): string => node.getAttribute(attribute) ?? '';
    let inner = target;
    if (rules.tags.includes(node.localName)) {
      const copy = document.createElement(node.localName.replace(/^h\d/, 'h4'));
      target.append(copy);
      inner = copy;
      setStyle(copy, attributeOf('style'), rules);
      if (copy instanceof HTMLAnchorElement) setLink(copy, attributeOf('href'));
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
  if (!/^https:\/\//i.test(href) || !parseUrl(href)) return;
  link.href = href;
  link.target = '_blank';
  link.rel = 'noopener noreferrer nofollow';
}
