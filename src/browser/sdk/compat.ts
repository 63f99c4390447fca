/*
 * Replacements for features that the oldest supported web views lack: those of iOS 12, and of Android 5 with Chromium
 * 60 (docs/guides/web.md#browsers). The check of the built scripts (test/browser/sdk/engines) lists them.
 */

/**
 * Style sheet. It is a constructed style sheet if possible, because strict content security policies allow those.
 * Otherwise, it is CSS text.
 */
export type Style = CSSStyleSheet | string;

/** Nonce of this script's element. Style elements need it to comply with the page's content security policy. */
const nonce = (document.currentScript as HTMLScriptElement | null)?.nonce;

export const canConstructStyles = 'adoptedStyleSheets' in document;

/**
 * Whether `keepalive` can be used. Chromium before 81 fails requests with `keepalive` and a JSON body.
 * `replaceChildren` exists since version 86, so its presence indicates a newer version.
 */
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

/** Replacement for `Object.fromEntries`. */
export function objectOf<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  const result: Record<string, Value> = {};
  for (const [name, value] of entries) result[name] = value;
  return result;
}

/** Replacement for `Array.prototype.flatMap`. */
export const flatMap = <From, To>(values: readonly From[], work: (value: From) => readonly To[]): To[] =>
  ([] as To[]).concat(...values.map(work));

/** Replacement for `URL.parse`. */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Returns the query string for a list of names and values. */
export const queryText = (entries: readonly (readonly [string, unknown])[]): string =>
  entries.map((entry) => entry.map((part) => encodeURIComponent(String(part))).join('=')).join('&');

/**
 * Replacement for `AbortSignal.timeout`, as the `signal` option of a request. Without AbortController, the request has
 * no timeout.
 */
export function timeLimit(limitMs: number): { signal?: AbortSignal } {
  if (typeof AbortController !== 'function') return {};
  if ('timeout' in AbortSignal) return { signal: AbortSignal.timeout(limitMs) };
  const controller = new AbortController();
  setTimeout(() => controller.abort(), limitMs);
  return { signal: controller.signal };
}

/** Replacement for `Element.prototype.replaceChildren`. */
export function setChildren(element: Element, ...children: (Node | string)[]): void {
  element.textContent = '';
  element.append(...children);
}

/**
 * Adds an event listener.
 * @returns a function that removes it
 */
export function on(
  target: EventTarget,
  name: string,
  work: (event: Event) => void,
  options?: AddEventListenerOptions | boolean,
): () => void {
  target.addEventListener(name, work, options);
  return () => target.removeEventListener(name, work, options);
}

/** Combines several functions into one that calls them all. */
export const all = (works: readonly (() => void)[]) => (): void => {
  for (const work of works) work();
};

/**
 * Opens a dialog. Web views before iOS 15.4 have no dialog element. There, the dialog is a box that looks the same,
 * over a backdrop that blocks the page.
 */
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

/** Closes a dialog opened with `openDialog`, and notifies its listeners. */
export function closeDialog(dialog: HTMLDialogElement): void {
  if (typeof dialog.close === 'function') {
    dialog.close();
    return;
  }
  const shade = dialog.previousElementSibling;
  if (shade?.classList.contains('shade')) shade.remove();
  dialog.dispatchEvent(new Event('close'));
}
