import { setChildren } from '../compat.ts';
import type { OffersResponse } from '../types.ts';
import { anchor, h } from '../views/dom.ts';
import type { WallWords } from './words.ts';

/** Page elements of the wall, which are empty until the first offers are loaded. */
export type Layout = ReturnType<typeof createLayout>;

/**
 * Creates the page elements of the wall.
 * @param standalone whether the wall has its own heading and logo
 */
export function createLayout(root: HTMLElement, { offerwall: words }: WallWords, standalone: boolean) {
  const search = h('input', {
    type: 'search',
    placeholder: words.search,
    'aria-label': words.search,
    dir: 'auto',
    maxlength: 100,
    autocomplete: 'off',
  });
  const header = h('header', 'head', standalone && h('h1', '', document.title), search);
  const categories = h('nav', { class: 'chips', 'aria-label': words.categories });
  const featured = h('ul', { class: 'featured', 'aria-label': words.featured, hidden: true });
  const grid = h('ul', { class: 'grid', 'aria-label': words.title });
  const status = h('p', { class: 'status', role: 'status' });
  const more = h('button', { type: 'button', class: 'button more', hidden: true }, words.showMore);
  const footer = h('footer', 'foot');
  setChildren(root, header, categories, featured, grid, status, more, footer);
  return { root, standalone, header, search, categories, featured, grid, status, more, footer };
}

/**
 * Applies the publisher's logo and privacy page link from the first response. The theme's colours are already applied.
 */
export function applyBranding(
  { standalone, header, footer }: Layout,
  { styles, privacyUrl }: OffersResponse,
  onLink: (url: string, event: Event) => void,
): void {
  const { offerwall_logo_url: logo } = styles.offerwall;
  if (standalone && /^https:\/\//.test(logo))
    header.prepend(h('img', { class: 'logo', src: logo, alt: styles.footer.publisher_name }));
  if (privacyUrl === '') return;
  footer.append(anchor(privacyUrl, '', (event) => onLink(privacyUrl, event), styles.footer.privacy));
}
