import { listenToFilter } from './filter.ts';
import { createLayout } from './layout.ts';
import { loadMore, reload } from './list.ts';
import { createSource } from './source.ts';
import type { WallOptions, WallState } from './state.ts';

/** Distance below the viewport, in CSS pixels, at which the end of the list triggers loading the next page. */
const preloadDistancePx = 600;

/** Shows the wall: a featured row, a grid that grows with scrolling, search and categories. */
export function startWall(options: WallOptions): void {
  const { root, query, base, words, emit, beacons } = options;
  const layout = createLayout(root, words, !['0', 'false'].includes(query.get('standalone') ?? ''));
  const { more } = layout;
  const wall: WallState = {
    ...options,
    layout,
    loadPage: createSource(base, query),
    onLink: (url, event) => {
      // The link then navigates: a host that opens it from the event cancels that in its navigation delegate.
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
  // Without it (before iOS 12.2) the user presses the button.
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
