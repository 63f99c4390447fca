const focusable =
  'a[href],button:not([disabled]),input:not([disabled]),select,textarea,summary,[tabindex]:not([tabindex="-1"])';

/** Makes Tab wrap around within a modal unit. The page behind is inert already. */
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

/** @returns a function that restores the present focus */
export function rememberFocus(): () => void {
  const focused = document.activeElement;
  return () => {
    if (focused instanceof HTMLElement && focused.isConnected) focused.focus({ preventScroll: true });
  };
}
