import { setChildren } from '../compat.ts';
import { describeError, SdkError } from '../errors.ts';
import type { OffersResponse } from '../types.ts';
import { button, h } from '../views/dom.ts';
import { watchVisibility, whenVisible } from '../visibility.ts';
import { translateAnswer } from '../words.ts';
import { openDetails } from './details.ts';
import { addCategories } from './filter.ts';
import { applyBranding } from './layout.ts';
import type { WallPage } from './source.ts';
import { isFiltered, type WallState } from './state.ts';
import { type TileContext, tile } from './tile.ts';
import { defaults, type WallWords } from './words.ts';

/** Number of offers in the featured row. */
const featuredCount = 3;

/** Loads the next page for the current filter, unless a page is already loading. */
export async function loadMore(wall: WallState): Promise<void> {
  if (wall.loading) return;
  const { generation, offersByElement } = wall;
  const { more, status } = wall.layout;
  const words = wall.words.offerwall;
  wall.loading = true;
  more.hidden = true;
  if (offersByElement.size === 0) setChildren(status, h('span', 'busy', words.loading));
  try {
    const page = await wall.loadPage(wall.filter, wall.cursor);
    if (generation === wall.generation) appendPage(wall, page);
  } catch (err) {
    const retry = button('button', () => void loadMore(wall), words.retry);
    wall.emit('error', describeError(err));
    if (generation === wall.generation) setChildren(status, h('span', '', messageOf(err, words)), retry);
  } finally {
    wall.loading = false;
    if (generation !== wall.generation) void loadMore(wall);
  }
}

/** Clears the list and loads it again after a filter change. */
export function reload(wall: WallState): void {
  const { featured, grid } = wall.layout;
  wall.generation += 1;
  wall.cursor = null;
  wall.offersByElement.clear();
  setChildren(featured);
  setChildren(grid);
  void loadMore(wall);
}

function appendPage(wall: WallState, page: WallPage): void {
  const { layout, base, words, onLink, offersByElement } = wall;
  const { nextCursor } = page;
  const answer = translateAnswer(page.answer, words, defaults);
  if (!wall.started) start(wall, answer, page);
  const isFirst = wall.cursor === null && offersByElement.size === 0;
  const context: TileContext = {
    answer,
    base,
    words,
    onLink,
    openDetails: (offer) => openDetails(offer, context, layout.root),
  };
  const featured = isFirst && !isFiltered(wall) && page.total > featuredCount ? featuredCount : 0;
  const elements = answer.offers.map((offer, index) => {
    const element = tile(offer, context, index < featured);
    (index < featured ? layout.featured : layout.grid).append(element);
    offersByElement.set(element, offer);
    return element;
  });
  const isEmpty = offersByElement.size === 0;
  wall.cursor = nextCursor;
  layout.featured.hidden = layout.featured.childElementCount === 0;
  layout.more.hidden = nextCursor === null;
  layout.status.textContent = isEmpty ? words.offerwall.noMatch : nextCursor === null ? words.offerwall.end : '';
  if (isFirst) layout.root.dataset.state = isEmpty ? 'empty' : 'ready';
  whenVisible(() => watchVisibility(elements, (element) => markSeen(wall, element)));
  const [first] = answer.offers;
  if (isFirst && opensFirstOffer(wall) && first !== undefined) context.openDetails(first);
}

function start(wall: WallState, answer: OffersResponse, { categories, total }: WallPage): void {
  wall.started = true;
  wall.emit('ads_found', { offerCount: total, total });
  if (total === 0) wall.emit('no_ads_found', { offerCount: 0, total: 0 });
  applyBranding(wall.layout, answer, wall.onLink);
  addCategories(wall, categories);
}

/**
 * Returns whether to open the details of the first offer. An offer's signed link requests this with `open=1`, and that
 * offer comes first.
 */
const opensFirstOffer = ({ query, filter }: WallState): boolean =>
  query.has('t') && query.get('open') === '1' && filter.text === '';

function markSeen(wall: WallState, element: Element): void {
  const offer = wall.offersByElement.get(element);
  if (offer === undefined) return;
  wall.beacons.impression(offer);
  wall.lastSeen = offer;
}

const messageOf = (err: unknown, { badLink, failed }: WallWords['offerwall']): string =>
  err instanceof SdkError && (err.status === 400 || err.status === 401) ? badLink : failed;
