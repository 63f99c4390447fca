import { originStorage } from '../storage.ts';
import { h } from '../views/dom.ts';
import { removeCopies } from './frame.ts';
import { findElement } from './target.ts';

/** Height of an embedded unit that no earlier page of this browser showed (CSS pixels). */
const firstHeightPx = 640;

/** Widths that differ by less have the same layout (CSS pixels). */
const widthStepPx = 64;

/** Faint cards in the colour of the page's text, as many as fit: each a picture, two lines and a button. */
const placeholderStyle =
  'position:absolute;min-height:inherit;opacity:.09;' +
  'background:linear-gradient(90deg,currentColor calc(100% - 16px),#0000 0) 0/360px round;' +
  'mask:linear-gradient(#000 50%,#0000 0 55%,#000 0 60%,#0000 0 65%,#000 0 70%,#0000 0 85%,#000 0)';

/** Space that is kept in the page for an embedded unit, so that nothing moves when its offers arrive. */
export type Space = {
  /** What names the element. */
  wanted: unknown;
  /** The unit is drawn: its height is kept for the next page. */
  remember: () => void;
  release: () => void;
};

/**
 * Keeps the height that the last unit of this name had in an element of this width, as soon as the page has the
 * element, and shows a still placeholder there until the offers arrive. A `min-height` in the element's own `style`
 * attribute is taken over; one of a style sheet stays as it is.
 */
export function keepSpace(wanted: unknown, name: string): Space {
  let element: HTMLElement | null = null;
  const placeholder = h('div', { 'data-perkwire-space': '' });
  placeholder.style.cssText = placeholderStyle;
  const keyOf = (target: HTMLElement): string => `space:${name}:${Math.round(target.clientWidth / widthStepPx)}`;
  const setMinHeight = (value: string): void => void element?.style.setProperty('min-height', value);

  function place(): void {
    const found = findElement(wanted);
    if (!(found instanceof HTMLElement)) return;
    observer.disconnect();
    const isGiven = found.style.minHeight !== '';
    placeholder.style.width = `${found.clientWidth}px`;
    removeCopies(found);
    if (!found.firstElementChild) found.append(placeholder);
    if (!isGiven && parseFloat(getComputedStyle(found).minHeight)) return;
    element = found;
    if (!isGiven) setMinHeight(`${Number(originStorage.read(keyOf(found))) || firstHeightPx}px`);
  }
  const observer = new MutationObserver(place);
  observer.observe(document, { childList: true, subtree: true });
  place();

  return {
    wanted,
    remember: () => {
      placeholder.remove();
      if (element === null) return;
      const { minHeight } = element.style;
      setMinHeight('');
      originStorage.write(keyOf(element), parseFloat(getComputedStyle(element).height));
      setMinHeight(minHeight);
    },
    release: () => {
      placeholder.remove();
      observer.disconnect();
      setMinHeight('');
    },
  };
}
