import { all, on } from './compat.ts';
import { onExit } from './exit/intent.ts';
import type { OffersResponse } from './types.ts';

/**
 * Minimum share of an element that must be visible for it to be viewable. For elements taller than the window, it is a
 * share of the window.
 */
const viewableShare = 0.5;

/** Minimum time for which an element must be viewable to count as seen, in milliseconds. */
const viewableMs = 1000;

/**
 * Calls `onSeen` once for each element that was viewable for long enough.
 * @returns a function that stops watching
 */
export function watchVisibility(elements: Iterable<Element>, onSeen: (element: Element) => void): () => void {
  if (typeof IntersectionObserver !== 'function') return pollVisibility(elements, onSeen);
  const timers = new Map<Element, ReturnType<typeof setTimeout>>();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, intersectionRatio, intersectionRect } of entries) {
        if (intersectionRatio < viewableShare && intersectionRect.height < window.innerHeight * viewableShare) {
          clearTimeout(timers.get(target));
          timers.delete(target);
        } else if (!timers.has(target)) timers.set(target, setTimeout(onViewable, viewableMs, target));
      }
    },
    { threshold: [0.1, 0.2, 0.3, 0.4, viewableShare] },
  );

  function onViewable(target: Element): void {
    timers.delete(target);
    observer.unobserve(target);
    if (document.hidden) return void whenVisible(() => observer.observe(target));
    onSeen(target);
  }

  for (const element of elements) observer.observe(element);
  return () => {
    observer.disconnect();
    for (const timer of timers.values()) clearTimeout(timer);
  };
}

/** Polling interval in milliseconds. */
const pollMs = 250;

/** Polls the visibility in browsers without IntersectionObserver, which iOS has supported since 12.2. */
function pollVisibility(elements: Iterable<Element>, onSeen: (element: Element) => void): () => void {
  const visibleMs = new Map([...elements].map((element) => [element, 0]));
  const timer = setInterval(() => {
    visibleMs.forEach((ms, element) => {
      const { top, bottom, height } = element.getBoundingClientRect();
      const visiblePx = Math.min(bottom, window.innerHeight) - Math.max(top, 0);
      const isViewable =
        !document.hidden && height > 0 && visiblePx >= viewableShare * Math.min(height, window.innerHeight);
      visibleMs.set(element, isViewable ? ms + pollMs : 0);
      if (!isViewable || ms < viewableMs) return;
      visibleMs.delete(element);
      onSeen(element);
    });
  }, pollMs);
  return () => clearInterval(timer);
}

/**
 * Calls `work` once the page is visible. Background tabs and web views with a size of 0×0 are not visible.
 * @returns a function that cancels
 */
export function whenVisible(work: () => void): () => void {
  const ends: (() => void)[] = [];
  const stop = all(ends);
  const check = (): void => {
    if (document.hidden || window.innerWidth < 2 || window.innerHeight < 2) return;
    stop();
    work();
  };
  ends.push(on(document, 'visibilitychange', check), on(window, 'resize', check));
  check();
  return stop;
}

/**
 * Calls `show` once: when the page is visible after the theme's delay, or when the user is about to leave. `sinceMs` is
 * the start of the delay, as in `performance.now()`.
 * @returns a function that cancels
 */
export function autoShow(settings: OffersResponse['settings'], sinceMs: number, show: () => void): () => void {
  if (settings.show_ads_on_exit) return onExit(show);
  let stop = (): void => {};
  const timer = setTimeout(
    () => {
      stop = whenVisible(show);
    },
    settings.delay + sinceMs - performance.now(),
  );
  return () => {
    clearTimeout(timer);
    stop();
  };
}
