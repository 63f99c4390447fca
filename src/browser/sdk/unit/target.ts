import { SdkError } from '../errors.ts';
import { tryCall } from '../try-call.ts';
import type { AdConfig, OffersResponse } from '../types.ts';

/** Finds a page element. The target is an element, its ID, or a selector. */
export const findElement = (target: unknown): Element | null | undefined =>
  typeof target === 'string'
    ? (document.getElementById(target) ?? tryCall(() => document.querySelector(target)))
    : target instanceof Element
      ? target
      : null;

/** Embedding options in the `settings` of a theme or a page. */
export type Embedded = { enabled?: boolean; targetElement?: string } | undefined;

/**
 * Returns the element to embed the unit in, or its name. "" or undefined means that the unit is shown as an overlay.
 */
export const embeddedOf = (
  { targetElement, containerId }: AdConfig,
  embedded: Embedded,
): string | Element | undefined =>
  targetElement ?? containerId ?? (embedded?.enabled ? embedded.targetElement : undefined);

/** Time to wait for a target element that the page renders late, in milliseconds. */
const targetWaitMs = 10_000;

/**
 * Calls `onFound` when the element exists in the page, or `missing` after the timeout.
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

/**
 * Returns the page element to embed the unit in, or null to show the unit as an overlay.
 * @throws SdkError render_error
 */
export function targetOf(config: AdConfig, { settings: { embedded } }: OffersResponse): Element | null {
  const target = embeddedOf(config, embedded);
  if (!target) return null;
  const element = findElement(target);
  if (!element) throw new SdkError('render_error', `Element ${String(target)} not found.`);
  return element;
}
