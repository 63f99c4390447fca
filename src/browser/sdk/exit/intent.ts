import { all, on } from '../compat.ts';
import { tryCall } from '../try-call.ts';

/**
 * Minimum upward scroll distance within the time below, as a share of the window height. Scrolling that far that fast
 * suggests that the user is going to the address bar.
 */
const fastShare = 0.5;
const fastMs = 400;

/**
 * Calls `leave` once when the user is about to leave. With a mouse, the sign is that the pointer leaves the window at
 * the top. On a phone, it is the back button, fast scrolling up, or returning from another tab.
 * @returns a function that stops the detection
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

  // Whether a history entry for the same page was added, so that the back button stays on this page. Browsers skip
  // entries that are added without a user gesture.
  let hasEntry = false;
  listen(document, 'click', () => {
    if (!hasEntry) tryCall(() => history.pushState(history.state, ''));
    hasEntry = true;
  });
  listen(page, 'popstate', () => hasEntry && exit());
  return stop;
}
