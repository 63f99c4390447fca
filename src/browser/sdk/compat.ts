/*
 * Replacements for features that the oldest supported web views lack: those of iOS 12, and of Android 5 with Chromium
 * 60 (docs/guides/web.md#browsers). The check of the built scripts (test/browser/sdk/engines) lists them.
 */

/** A style sheet: constructed, which strict policies of pages allow, or its text if that is impossible. */
export type Style = CSSStyleSheet | string;

/** Nonce of the tag that loaded this script, so that style elements pass the page's policy. */
const nonce = (document.currentScript as HTMLScriptElement | null)?.nonce;

export const canConstructStyles = 'adoptedStyleSheets' in document;

/** Chromium before 81 fails requests with `keepalive` and a JSON body; this member exists since 86. */
export const canKeepAlive = 'replaceChildren' in document;

export const createStyle = async (css: string): Promise<Style> =>
  canConstructStyles ? new CSSStyleSheet().replace(css) : css;

/** Adds a style sheet to a shadow root or to the document. */
export function adoptStyle(root: ShadowRoot | Document, style: Style): void {
  if (typeof style !== 'string') {
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, style];
    return;
  }
  const element = document.createElement('style');
  if (nonce) element.nonce = nonce;
  element.textContent = style;
  ('head' in root ? root.head : root).appendChild(element);
}

/** Object.fromEntries */
export function objectOf<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  const result: Record<string, Value> = {};
  for (const [name, value] of entries) result[name] = value;
  return result;
}

/** Array.prototype.flatMap */
export const flatMap = <From, To>(values: readonly From[], work: (value: From) => readonly To[]): To[] =>
  ([] as To[]).concat(...values.map(work));

/** URL.parse */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Query string of names and values. */
export const queryText = (entries: readonly (readonly [string, unknown])[]): string =>
  entries.map((entry) => entry.map((part) => encodeURIComponent(String(part))).join('=')).join('&');

/** AbortSignal.timeout as the member `signal` of a request; without AbortController a request has no limit. */
export function timeLimit(limitMs: number): { signal?: AbortSignal } {
  if (typeof AbortController !== 'function') return {};
  if ('timeout' in AbortSignal) return { signal: AbortSignal.timeout(limitMs) };
  const controller = new AbortController();
  setTimeout(() => controller.abort(), limitMs);
  return { signal: controller.signal };
}

/** Element.prototype.replaceChildren */
export function setChildren(element: Element, ...children: (Node | string)[]): void {
  element.textContent = '';
  element.append(...children);
}

/** Adds an event listener. @returns a function that removes it */
export function on(
  target: EventTarget,
  name: string,
  work: (event: Event) => void,
  options?: AddEventListenerOptions | boolean,
): () => void {
  target.addEventListener(name, work, options);
  return () => target.removeEventListener(name, work, options);
}

/** Combines functions into one. */
export const all = (works: readonly (() => void)[]) => (): void => {
  for (const work of works) work();
};

/** Opens a dialog. Web views before iOS 15.4 get a box that looks the same, over a backdrop that blocks the page. */
export function openDialog(dialog: HTMLDialogElement, isModal: boolean, shadeClass = ''): void {
  if (typeof dialog.showModal === 'function') {
    if (isModal) dialog.showModal();
    else dialog.show();
    return;
  }
  dialog.className += ' plain';
  dialog.setAttribute('role', 'dialog');
  dialog.setAttribute('open', '');
  if (!isModal) return;
  dialog.setAttribute('aria-modal', 'true');
  const shade = document.createElement('div');
  shade.className = `shade ${shadeClass}`;
  dialog.parentNode?.insertBefore(shade, dialog);
}

/** Closes a dialog that `openDialog` opened, and notifies its listeners. */
export function closeDialog(dialog: HTMLDialogElement): void {
  if (typeof dialog.close === 'function') {
    dialog.close();
    return;
  }
  const shade = dialog.previousElementSibling;
  if (shade?.classList.contains('shade')) shade.remove();
  dialog.dispatchEvent(new Event('close'));
}
