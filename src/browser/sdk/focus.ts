const focusable =
  'a[href],button:not([disabled]),input:not([disabled]),select,textarea,summary,[tabindex]:not([tabindex="-1"])';

/** Keeps Tab within a modal unit. The page behind is inert already; this joins the two ends. */
export function trapTab(event: KeyboardEvent, root: ShadowRoot, frame: HTMLElement): void {
  if (event.key !== 'Tab') return;
  const host = root.host;
  const all = [
    ...frame.querySelectorAll<HTMLElement>(focusable),
    ...host.querySelectorAll<HTMLElement>(focusable),
  ].filter((element) => element.checkVisibility());
  const [first] = all;
  const last = all.at(-1);
  const now = root.activeElement ?? (host.contains(document.activeElement) ? document.activeElement : null);
  const atEnd = event.shiftKey ? now === first || now === null || !all.includes(now as HTMLElement) : now === last;
  if (!atEnd) return;
  event.preventDefault();
  (event.shiftKey ? last : first)?.focus();
}

/** Answers how to give the focus back to what had it. */
export function rememberFocus(): () => void {
  const before = document.activeElement;
  return () => {
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
  };
}
