import { originStorage } from '../storage.ts';
import { h } from '../views/dom.ts';
import { removeCopies } from './frame.ts';
import { findElement } from './target.ts';

/** Height, in CSS pixels, of an embedded unit that no earlier page of this browser has shown. */
const firstHeightPx = 640;

/** Smaller differences in width, in CSS pixels, don't change the layout. */
const widthStepPx = 64;

/** Faint cards in the page's text color, as many as fit: each with an image, two lines and a button. */
const placeholderStyle =
  'position:absolute;min-height:inherit;opacity:.09;' +
  'background:linear-gradient(90deg,currentColor calc(100% - 16px),#0000 0) 0/360px round;' +
  'mask:linear-gradient(#000 50%,#0000 0 55%,#000 0 60%,#0000 0 65%,#000 0 70%,#0000 0 85%,#000 0)';

/** Space reserved in the page for an embedded unit, so that nothing moves when its offers arrive. */
export type Space = {
  /** Name of the element, or the element. */
  wanted: unknown;
  /** Remembers the height of the drawn unit for the next page. */
  remember: () => void;
  release: () => void;
};

/**
 * Reserves the height that the last unit of this name had in an element of this width, as soon as the element exists,
 * and shows a static placeholder there until the offers arrive. It overrides a `min-height` in the element's own
 * `style` attribute, but not one of a style sheet.
 */
export function keepSpace(wanted: unknown, name: string): Space {
  let element: HTMLElement | null = null;
  const placeholder = h('div', { 'data-perkwire-space': '' });
  placeholder.style.cssText = placeholderStyle;
  const keyOf = (target: HTMLElement): string => `space:${name}:${Math.round(target.clientWidth / widthStepPx)}`;
  const setMinHeight = (value: string): void => void element?.style.setProperty('min-height', value);

  function place(): void {
    const target = findElement(wanted);
    if (!(target instanceof HTMLElement)) return;
    observer.disconnect();
    const isGiven = target.style.minHeight !== '';
    placeholder.style.width = `${target.clientWidth}px`;
    removeCopies(target);
    if (!target.firstElementChild) target.append(placeholder);
    if (!isGiven && parseFloat(getComputedStyle(target).minHeight)) return;
    element = target;
    if (!isGiven) setMinHeight(`${Number(originStorage.read(keyOf(target))) || firstHeightPx}px`);
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
