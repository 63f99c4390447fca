import { all, on } from '../compat.ts';
import { tryCall } from '../try-call.ts';

/** Scrolling up by this share of the window within this time counts as fast: the user is going to the address bar. */
const fastShare = 0.5;
const fastMs = 400;

/**
 * Calls `leave` once when the user is about to leave: with a mouse, when it leaves by the top edge of the window; on a
 * phone, by the back button, by scrolling up fast, or by returning from another tab.
 * @returns a function that cancels
 */
export function onExit(leave: () => void, page: Window = window): () => void {
  const { document, history } = page;
  const ends: (() => void)[] = [];
  const stop = all(ends);
  const exit = (): void => {
    stop();
    leave();
  };
  const listen = (target: EventTarget, name: string, work: (event: Event) => void): void =>
    void ends.push(on(target, name, work, { passive: true }));

  listen(document, 'mouseout', (event) => {
    const { relatedTarget, clientY } = event as MouseEvent;
    if (relatedTarget === null && clientY <= 0) exit();
  });
  if (!page.matchMedia('(pointer: coarse)').matches) return stop;

  let wasHidden = false;
  listen(document, 'visibilitychange', () => {
    if (wasHidden && !document.hidden) exit();
    wasHidden ||= document.hidden;
  });

  let lowest = { y: page.scrollY, atMs: 0 };
  listen(document, 'scroll', () => {
    const now = { y: page.scrollY, atMs: performance.now() };
    if (now.y >= lowest.y || now.atMs - lowest.atMs > fastMs) lowest = now;
    else if (lowest.y - now.y > page.innerHeight * fastShare) exit();
  });

  // History entry of the same page, so that "back" stays here. Browsers skip an entry made without a touch.
  let hasEntry = false;
  listen(document, 'click', () => {
    if (!hasEntry) tryCall(() => history.pushState(history.state, ''));
    hasEntry = true;
  });
  listen(page, 'popstate', () => hasEntry && exit());
  return stop;
}
