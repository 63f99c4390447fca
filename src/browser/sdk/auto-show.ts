import type { Answer } from './types.ts';
import { whenVisible } from './visibility.ts';

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

/** Exit intent: the pointer leaves by the top edge of the window. */
function onExit(show: () => void): () => void {
  const stop = (): void => document.removeEventListener('mouseout', leave);
  const leave = (event: MouseEvent): void => {
    if (event.relatedTarget !== null || event.clientY > 0) return;
    stop();
    show();
  };
  document.addEventListener('mouseout', leave);
  return stop;
}
