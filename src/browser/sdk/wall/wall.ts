import type { Beacons } from '../beacons.ts';
import type { Bridge } from '../bridge.ts';
import { SdkError } from '../errors.ts';
import type { Answer, Offer } from '../types.ts';
import { anchor, button, h } from '../views/dom.ts';
import { watchVisibility, whenVisible } from '../visibility.ts';
import { openDetails } from './details.ts';
import { createSource, type Filter, type WallPage } from './source.ts';
import { type TileContext, tile } from './tile.ts';

export type WallOptions = {
  root: HTMLElement;
  /** Parameters of the page's address. */
  query: URLSearchParams;
  /** Origin of the service. */
  base: string;
  bridge: Bridge;
  beacons: Beacons;
};

/** Offers of the featured row (count). */
const featuredCount = 3;

/** How long the reader must pause before a search starts (milliseconds). */
const typingMs = 250;

/** Shows the wall: a featured row, a grid that grows as it is scrolled, search and categories. */
export function startWall({ root, query, base, bridge, beacons }: WallOptions): void {
  const load = createSource(base, query);
  const { featured, grid, status, search, chips, more, head, footer } = skeleton(root);
  const filter: Filter = { text: '', category: null };
  const shown = new Map<Element, Offer>();
  let cursor: string | null = null;
  /** Grows with every new filter; answers to an older one are dropped. */
  let run = 0;
  let busy = false;
  let started = false;
  /** Whatever is shown now: a search may have found nothing. */
  let lastSeen: Offer | null = null;

  function onLink(url: string, event: Event): void {
    if (bridge.present()) event.preventDefault();
    const payload = { target_url: url, url };
    bridge.post('url_clicked', payload);
    if (window.parent !== window) window.parent.postMessage({ name: 'url_clicked', ...payload }, '*'); // who may frame the page is the publisher's choice
  }

  const see = (element: Element): void => {
    const offer = shown.get(element);
    if (offer === undefined) return;
    beacons.impression(offer);
    lastSeen = offer;
  };

  async function loadMore(): Promise<void> {
    if (busy) return;
    const mine = run;
    busy = true;
    more.hidden = true;
    if (shown.size === 0) status.replaceChildren(h('span', { class: 'busy' }, 'Loading offers …'));
    try {
      const page = await load(filter, cursor);
      if (mine === run) append(page);
    } catch (err) {
      if (mine === run)
        status.replaceChildren(
          messageOf(err),
          button('button', () => void loadMore(), 'Try again'),
        );
    } finally {
      busy = false;
      if (mine !== run) void loadMore();
    }
  }

  function append(page: WallPage): void {
    if (!started) begin(page);
    const isFirst = cursor === null && shown.size === 0;
    const context: TileContext = {
      answer: page.answer,
      base,
      onLink,
      openDetails: (offer) => openDetails(offer, context),
    };
    const elements = page.answer.offers.map((offer, index) => {
      const isFeatured =
        isFirst &&
        index < featuredCount &&
        filter.text === '' &&
        filter.category === null &&
        page.total > featuredCount;
      const element = tile(offer, context, isFeatured);
      (isFeatured ? featured : grid).append(element);
      shown.set(element, offer);
      return element;
    });
    featured.hidden = featured.childElementCount === 0;
    cursor = page.nextCursor;
    more.hidden = cursor === null;
    status.textContent = shown.size === 0 ? 'No offers match.' : cursor === null ? 'That is all.' : '';
    if (isFirst) root.dataset.state = shown.size === 0 ? 'empty' : 'ready';
    whenVisible(() => watchVisibility(elements, see));
    if (isFirst && started && query.has('t') && filter.text === '' && query.get('open') === '1') {
      const [first] = page.answer.offers;
      if (first !== undefined) openDetails(first, context);
    }
  }

  function begin({ answer, categories }: WallPage): void {
    started = true;
    dress(answer.styles);
    const { offerwall_logo_url: logo } = answer.styles.offerwall;
    if (/^https:\/\//.test(logo))
      head.prepend(h('img', { class: 'logo', src: logo, alt: answer.styles.footer.publisher_name }));
    if (categories.length > 1) chips.append(...[null, ...categories].map((category) => chip(category)));
    if (answer.privacyUrl !== '')
      footer.append(
        anchor(
          answer.privacyUrl,
          '',
          (event) => onLink(answer.privacyUrl, event),
          answer.styles.footer.privacy || 'Privacy',
        ),
      );
  }

  function chip(category: string | null): HTMLElement {
    const element = button('chip', () => show({ category }), category ?? 'All');
    element.ariaPressed = String(category === null);
    element.dataset.category = category ?? '';
    return element;
  }

  function show(change: Partial<Filter>): void {
    Object.assign(filter, change);
    for (const element of chips.querySelectorAll('button'))
      element.ariaPressed = String(element.dataset.category === (filter.category ?? ''));
    run += 1;
    cursor = null;
    shown.clear();
    featured.replaceChildren();
    grid.replaceChildren();
    void loadMore();
  }

  let typing: ReturnType<typeof setTimeout> | undefined;
  search.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => show({ text: search.value.trim() }), typingMs);
  });
  more.addEventListener('click', () => void loadMore());
  new IntersectionObserver(
    (entries) => entries.some(({ isIntersecting }) => isIntersecting) && !more.hidden && void loadMore(),
    {
      rootMargin: '600px',
    },
  ).observe(more);
  window.addEventListener('pagehide', () => {
    if (lastSeen !== null) beacons.close(lastSeen);
  });
  void loadMore();
}

function skeleton(root: HTMLElement) {
  const search = h('input', {
    type: 'search',
    placeholder: 'Search offers',
    'aria-label': 'Search offers',
    maxlength: 100,
    autocomplete: 'off',
  });
  const head = h('header', { class: 'head' }, h('h1', {}, document.title), search);
  const chips = h('nav', { class: 'chips', 'aria-label': 'Categories' });
  const featured = h('ul', { class: 'featured', 'aria-label': 'Featured offers', hidden: true });
  const grid = h('ul', { class: 'grid', 'aria-label': 'Offers' });
  const status = h('p', { class: 'status', role: 'status' });
  const more = h('button', { type: 'button', class: 'button more', hidden: true }, 'Show more');
  const footer = h('footer', { class: 'foot' });
  root.replaceChildren(head, chips, featured, grid, status, more, footer);
  return { head, search, chips, featured, grid, status, more, footer };
}

/** The publisher's look. Set property by property, which a page without inline styles allows. */
function dress({ offerwall, offerText }: Answer['styles']): void {
  const { style } = document.documentElement;
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

const messageOf = (err: unknown): string =>
  err instanceof SdkError && (err.status === 400 || err.status === 401)
    ? 'This link does not work any more. '
    : 'The offers could not be loaded. ';
