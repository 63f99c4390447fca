import { listenToFilter } from './filter.ts';
import { createLayout } from './layout.ts';
import { loadMore, reload } from './list.ts';
import { createSource } from './source.ts';
import type { WallOptions, WallState } from './state.ts';

/** Distance between the viewport and the end of the list at which the next page is loaded, in CSS pixels. */
const preloadDistancePx = 600;

/** Starts the wall: a featured row, a grid that grows while scrolling, a search and categories. */
export function startWall(options: WallOptions): void {
  const { root, query, base, words, emit, beacons } = options;
  const layout = createLayout(root, words, !['0', 'false'].includes(query.get('standalone') ?? ''));
  const { more } = layout;
  const wall: WallState = {
    ...options,
    layout,
    loadPage: createSource(base, query),
    onLink: (url, event) => {
      // The browser then follows the link, unless the host returns false. A host app that opens the URL from the event
      // cancels the navigation in its navigation delegate.
      if (emit('url_clicked', { target_url: url, url }) === false) event.preventDefault();
    },
    filter: { text: '', category: null },
    offersByElement: new Map(),
    cursor: null,
    generation: 0,
    loading: false,
    started: false,
    lastSeen: null,
  };
  listenToFilter(wall, () => reload(wall));
  more.addEventListener('click', () => void loadMore(wall));
  // Without IntersectionObserver (before iOS 12.2), the user presses a button to load more offers.
  if (typeof IntersectionObserver === 'function')
    new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && !more.hidden && void loadMore(wall),
      { rootMargin: `${preloadDistancePx}px` },
    ).observe(more);
  window.addEventListener('pagehide', () => {
    if (wall.lastSeen !== null) beacons.send('close', wall.lastSeen);
  });
  void loadMore(wall);
}
