/** Tags that terms may hold; the same as on the server (docs/interface.md#fetch-offers). */
const allowed = new Set(
  'p br ul ol li b strong i em u a span div h4 h5 h6 small sup sub table thead tbody tr th td'.split(' '),
);

/** Elements that go with everything in them. Others that are not allowed leave their content behind. */
const dropped = new Set('script style noscript iframe noembed noframes textarea title select xmp'.split(' '));

/** How deep elements may be nested (count). */
const maxDepth = 40;

type TrustedTypes = {
  createPolicy: (
    name: string,
    rules: { createHTML: (html: string) => string },
  ) => { createHTML: (html: string) => string };
};

/** The terms of an offer as harmless nodes: allowed tags only, no attributes but https links that open apart. */
export function sanitise(html: string): DocumentFragment {
  const clean = document.createDocumentFragment();
  const parsed = parse(html);
  if (parsed === null) clean.append(html.replace(/<[^>]*>/g, ' '));
  else copyInto(clean, parsed.body, 0);
  return clean;
}

/** A document of its own: nothing in it runs or loads. null: the page forbids even that. */
function parse(html: string): Document | null {
  try {
    return new DOMParser().parseFromString(trusted(html), 'text/html');
  } catch {
    return null;
  }
}

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
    if (dropped.has(name) || (node as Element).namespaceURI !== 'http://www.w3.org/1999/xhtml') continue;
    const copy = allowed.has(name) ? target.appendChild(document.createElement(name)) : target;
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
