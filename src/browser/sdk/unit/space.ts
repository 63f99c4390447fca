import { originStorage } from '../storage.ts';
import { findElement } from './target.ts';

/** Height of an embedded unit that no earlier page of this browser showed (CSS pixels). */
const firstHeightPx = 640;

/** Widths that differ by less have the same layout (CSS pixels). */
const widthStepPx = 64;

/** Space that is kept in the page for an embedded unit, so that nothing moves when its offers arrive. */
export type Space = {
  /** The unit is drawn: its height is kept for the next page. */
  remember: () => void;
  release: () => void;
};

/**
 * Keeps the height that the last unit of this name had in an element of this width, as soon as the page has the
 * element. A `min-height` in the element's own `style` attribute is taken over; one of a style sheet stays as it is.
 */
export function keepSpace(wanted: unknown, name: string): Space {
  let element: HTMLElement | null = null;
  const keyOf = (target: HTMLElement): string => `space:${name}:${Math.round(target.clientWidth / widthStepPx)}`;
  const setMinHeight = (value: string): void => void element?.style.setProperty('min-height', value);

  function place(): void {
    const found = findElement(wanted);
    if (!(found instanceof HTMLElement)) return;
    observer.disconnect();
    const isGiven = found.style.minHeight !== '';
    if (!isGiven && parseFloat(getComputedStyle(found).minHeight)) return;
    element = found;
    if (!isGiven) setMinHeight(`${Number(originStorage.read(keyOf(found))) || firstHeightPx}px`);
  }
  const observer = new MutationObserver(place);
  observer.observe(document, { childList: true, subtree: true });
  place();

  return {
    remember: () => {
      if (element === null) return;
      const { minHeight } = element.style;
      setMinHeight('');
      originStorage.write(keyOf(element), parseFloat(getComputedStyle(element).height));
      setMinHeight(minHeight);
    },
    release: () => {
      observer.disconnect();
      setMinHeight('');
    },
  };
}
