type Child = Node | string | null | undefined | false;
type Attribute = string | boolean | number | null | undefined | ((event: Event) => void);

/** An element. Functions become listeners, texts text nodes; there is no way to pass HTML or an inline style. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children)
    if (child !== null && child !== undefined && child !== false && child !== '') element.append(child);
  return element;
}

/** A link that opens apart. */
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

/** An id that is unique in the shadow root. */
export const newId = (): string => `a${++ids}`;
