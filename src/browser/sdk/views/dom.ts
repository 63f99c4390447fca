import { adoptStyle, createStyle } from '../compat.ts';

/** Child of an element. Empty values are skipped. */
export type Child = Node | string | null | undefined | false;
type Attribute = string | boolean | number | null | undefined | ((event: Event) => void);

/**
 * Creates an element. A string passed as `attributes` is the class name. Functions in `attributes` become event
 * listeners. String children become text nodes, so that neither HTML nor inline styles can be injected. The writing
 * direction is determined for each string separately.
 */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, Attribute> | string = '',
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  const entries = Object.entries(typeof attributes === 'string' ? { class: attributes || null } : attributes);
  for (const [key, value] of entries) {
    if (typeof value === 'function') element.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === '') continue;
    if (typeof child === 'string') element.dir = 'auto';
    element.append(child);
  }
  return element;
}

/** Creates a link that opens in a new tab. */
export const anchor = (
  href: string,
  className: string,
  click: (event: Event) => void,
  ...children: Child[]
): HTMLAnchorElement =>
  h('a', { href, target: '_blank', rel: 'noopener sponsored', class: className, click }, ...children);

export const button = (className: string, click: (event: Event) => void, text: string): HTMLButtonElement =>
  h('button', { type: 'button', class: className, click }, text);

let ids = 0;

/** Generates an ID that is unique in the shadow root. */
export const newId = (): string => `a${++ids}`;

let adopted = '';

/**
 * Declares the fonts of a shadow root's style sheet in the document, because browsers only load fonts that are declared
 * there.
 */
export function adoptFonts(faces: string): void {
  if (faces === adopted) return;
  adopted = faces;
  void createStyle(faces).then((style) => adoptStyle(document, style));
}
