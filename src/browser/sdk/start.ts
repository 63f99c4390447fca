import type { Answer } from './types.ts';
import { whenVisible } from './visibility.ts';

/**
 * Shows by itself: when the page can be seen, after the theme's delay, or when the user is about to leave. @returns how
 * to stop
 */
export function autoShow(settings: Answer['settings'], show: () => void): () => void {
  if (settings.show_ads_on_exit) return onExit(show);
  let stop = (): void => {};
  const timer = setTimeout(() => {
    stop = whenVisible(show);
  }, settings.delay);
  return () => {
    clearTimeout(timer);
    stop();
  };
}

/** The pointer leaves by the top edge of the window. */
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

/** Where the service is: the place the script came from, without its own path. "" when that cannot be told. */
export function scriptBaseOf(page: Document): string {
  const path = /\/sdk\/launcher(\.[\w]+)?\.js([?#].*)?$/;
  const own = page.currentScript instanceof HTMLScriptElement ? page.currentScript.src : '';
  const found = path.test(own) ? own : [...page.scripts].map((script) => script.src).find((src) => path.test(src));
  return (found ?? '').replace(path, '');
}

export function whenParsed(work: () => void): void {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', work, { once: true });
  else work();
}
