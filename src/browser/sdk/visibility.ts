/**
 * How much of an element (or, where it is too tall for that, of the window) must show how long to count as seen
 * (fraction, milliseconds).
 */
const share = 0.5;
const seenMs = 1000;

/** Calls `onSeen` once for each element that was half in view for a second. @returns how to stop */
export function watchVisibility(elements: Iterable<Element>, onSeen: (element: Element) => void): () => void {
  const timers = new Map<Element, ReturnType<typeof setTimeout>>();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, intersectionRatio, intersectionRect } of entries) {
        if (intersectionRatio < share && intersectionRect.height < window.innerHeight * share) {
          clearTimeout(timers.get(target));
          timers.delete(target);
        } else if (!timers.has(target)) timers.set(target, setTimeout(check, seenMs, target));
      }
    },
    { threshold: [0.1, 0.2, 0.3, 0.4, share] },
  );

  function check(target: Element): void {
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
 * Runs `work` when the page can be seen: not in a background tab, nor in a web view of size 0×0. @returns how to stop
 */
export function whenVisible(work: () => void): () => void {
  const stop = (): void => {
    document.removeEventListener('visibilitychange', attempt);
    window.removeEventListener('resize', attempt);
  };
  const attempt = (): void => {
    if (document.hidden || window.innerWidth < 2 || window.innerHeight < 2) return;
    stop();
    work();
  };
  document.addEventListener('visibilitychange', attempt);
  window.addEventListener('resize', attempt);
  attempt();
  return stop;
}
