import { SdkError } from '../errors.ts';
import { tryCall } from '../try-call.ts';
import type { AdConfig, Answer } from '../types.ts';

/** An element of the page, given itself, by its id, or by a selector. */
export const findElement = (wanted: unknown): Element | null | undefined =>
  typeof wanted === 'string'
    ? (document.getElementById(wanted) ?? tryCall(() => document.querySelector(wanted)))
    : wanted instanceof Element
      ? wanted
      : null;

/** Of `settings`, of a theme or of the page. */
export type Embedded = { enabled?: boolean; targetElement?: string } | undefined;

/** What names the element to embed the unit in; "" or undefined: over the page. */
export const embeddedOf = (
  { targetElement, containerId }: AdConfig,
  embedded: Embedded,
): string | Element | undefined =>
  targetElement ?? containerId ?? (embedded?.enabled ? embedded.targetElement : undefined);

/** How long a unit waits for an element that the page draws late (milliseconds). */
const targetWaitMs = 10_000;

/**
 * Calls `found` when the page has the element, or `missing` when it still has none after the wait.
 * @returns a function that ends the wait
 */
export function waitForTarget(wanted: unknown, found: () => void, missing: () => void): () => void {
  const observer = new MutationObserver(() => {
    if (findElement(wanted)?.isConnected) finish(found);
  });
  const timer = setTimeout(() => finish(missing), targetWaitMs);
  const stop = (): void => {
    observer.disconnect();
    clearTimeout(timer);
  };
  function finish(work: () => void): void {
    stop();
    work();
  }
  observer.observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ['id', 'class'] });
  return stop;
}

/** The element of the page to embed the unit in; null: over the page. @throws SdkError render_error */
export function targetOf(config: AdConfig, { settings: { embedded } }: Answer): Element | null {
  const wanted = embeddedOf(config, embedded);
  if (!wanted) return null;
  const found = findElement(wanted);
  if (!found) throw new SdkError('render_error', `There is no element ${String(wanted)}.`);
  return found;
}
