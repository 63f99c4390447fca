import type { Answer } from '../types.ts';
import { anchor, h } from '../views/dom.ts';

/** Elements of the page, empty until the first offers are there. */
export type Layout = ReturnType<typeof createLayout>;

/** @param standalone whether the wall has a heading and a logo of its own */
export function createLayout(root: HTMLElement, standalone: boolean) {
  const search = h('input', {
    type: 'search',
    placeholder: 'Search offers',
    'aria-label': 'Search offers',
    maxlength: 100,
    autocomplete: 'off',
  });
  const header = h('header', 'head', standalone && h('h1', '', document.title), search);
  const categories = h('nav', { class: 'chips', 'aria-label': 'Categories' });
  const featured = h('ul', { class: 'featured', 'aria-label': 'Featured offers', hidden: true });
  const grid = h('ul', { class: 'grid', 'aria-label': 'Offers' });
  const status = h('p', { class: 'status', role: 'status' });
  const more = h('button', { type: 'button', class: 'button more', hidden: true }, 'Show more');
  const footer = h('footer', 'foot');
  root.replaceChildren(header, categories, featured, grid, status, more, footer);
  return { root, standalone, header, search, categories, featured, grid, status, more, footer };
}

/** The publisher's theme, logo and privacy page, which come with the first response. */
export function applyBranding(
  { root, standalone, header, footer }: Layout,
  { styles, privacyUrl }: Answer,
  onLink: (url: string, event: Event) => void,
): void {
  applyTheme(root, styles);
  const { offerwall_logo_url: logo } = styles.offerwall;
  if (standalone && /^https:\/\//.test(logo))
    header.prepend(h('img', { class: 'logo', src: logo, alt: styles.footer.publisher_name }));
  if (privacyUrl === '') return;
  const label = styles.footer.privacy || 'Privacy';
  footer.append(anchor(privacyUrl, '', (event) => onLink(privacyUrl, event), label));
}

/** Set property by property, which a page without inline styles allows. */
function applyTheme({ style }: HTMLElement, { offerwall, offerText }: Answer['styles']): void {
  const { button: buttons, tile: tiles } = offerwall;
  const properties = {
    '--action': buttons.offerwall_mou_button_background,
    '--on-action': buttons.offerwall_mou_button_color,
    '--action-hover': buttons.offerwall_mou_button_hover,
    '--action-edge': buttons.offerwall_mou_button_stroke,
    '--tile': tiles.mou_tile_background_color,
    '--tile-hover': tiles.offerwall_mou_tile_background_hover_color,
    '--tile-edge': tiles.offerwall_mou_border_color,
    '--tile-edge-width': `${tiles.offerwall_mou_border_thickness}px`,
    '--tile-radius': `${offerwall.tile_radius}px`,
    '--gap': `${offerwall.mou_tile_gap}px`,
    '--button-radius': `${offerText.offerwall_mou_button_radius}px`,
    '--tile-text': offerText.textColor,
  };
  for (const [name, value] of Object.entries(properties)) style.setProperty(name, value);
}
