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

/** The element of the page to embed the unit in; null: over the page. @throws SdkError render_error */
export function targetOf(config: AdConfig, { settings: { embedded } }: Answer): Element | null {
  const wanted = embeddedOf(config, embedded);
  if (!wanted) return null;
  const found = findElement(wanted);
  if (!found) throw new SdkError('render_error', `There is no element ${String(wanted)}.`);
  return found;
}
