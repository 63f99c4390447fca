import { SdkError } from '../errors.ts';
import { tryCall } from '../try-call.ts';
import type { AdConfig, Answer } from '../types.ts';

/** Finds an element of the page by itself, its id, or a selector. */
export const findElement = (target: unknown): Element | null | undefined =>
  typeof target === 'string'
    ? (document.getElementById(target) ?? tryCall(() => document.querySelector(target)))
    : target instanceof Element
      ? target
      : null;

/** Embedding in the `settings` of a theme or of the page. */
export type Embedded = { enabled?: boolean; targetElement?: string } | undefined;

/** Element to embed the unit in, or its name; "" or undefined to show it over the page. */
export const embeddedOf = (
  { targetElement, containerId }: AdConfig,
  embedded: Embedded,
): string | Element | undefined =>
  targetElement ?? containerId ?? (embedded?.enabled ? embedded.targetElement : undefined);

/** Time, in milliseconds, that a unit waits for an element that the page draws late. */
const targetWaitMs = 10_000;

/**
 * Calls `found` when the page has the element, or `missing` after the timeout.
 * @returns a function that stops waiting
 */
export function waitForTarget(target: unknown, onFound: () => void, missing: () => void): () => void {
  const observer = new MutationObserver(() => {
    if (findElement(target)?.isConnected) finish(onFound);
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

/** Element of the page to embed the unit in, or null to show it over the page. @throws SdkError render_error */
export function targetOf(config: AdConfig, { settings: { embedded } }: Answer): Element | null {
  const target = embeddedOf(config, embedded);
  if (!target) return null;
  const element = findElement(target);
  if (!element) throw new SdkError('render_error', `Element ${String(target)} not found.`);
  return element;
}
