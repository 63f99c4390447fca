import { onExit } from './exit/intent.ts';
import type { Answer } from './types.ts';

/** Visible part of an element, or of the window where the element is taller, that counts as viewable (fraction). */
const viewableShare = 0.5;

/** How long it must be viewable to count as seen. */
const viewableMs = 1000;

/** Calls `onSeen` once for each element that was viewable long enough. @returns a function that stops watching */
export function watchVisibility(elements: Iterable<Element>, onSeen: (element: Element) => void): () => void {
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

/**
 * Runs `work` once the page is visible: not in a background tab, nor in a web view of size 0×0.
 * @returns a function that cancels
 */
export function whenVisible(work: () => void): () => void {
  const listening = new AbortController();
  const stop = (): void => listening.abort();
  const check = (): void => {
    if (document.hidden || window.innerWidth < 2 || window.innerHeight < 2) return;
    stop();
    work();
  };
  document.addEventListener('visibilitychange', check, listening);
  window.addEventListener('resize', check, listening);
  check();
  return stop;
}

/**
 * Calls `show` once: after the theme's delay as soon as the page is visible, or when the user is about to leave.
 * `sinceMs`: when the delay began (`performance.now()`).
 * @returns a function that cancels
 */
export function autoShow(settings: Answer['settings'], sinceMs: number, show: () => void): () => void {
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
