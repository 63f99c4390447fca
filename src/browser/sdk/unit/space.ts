import { originStorage } from '../storage.ts';
import { h } from '../views/dom.ts';
import { removeCopies } from './frame.ts';
import { findElement } from './target.ts';

/** Height to reserve for an embedded unit that this browser has not shown before, in CSS pixels. */
const firstHeightPx = 640;

/**
 * Step to which widths are rounded when heights are remembered, in CSS pixels. Smaller width differences do not change
 * the layout.
 */
const widthStepPx = 64;

/**
 * Style of the faint placeholder cards, in the page's text colour. As many cards as fit are shown, each suggesting an
 * image, two lines of text and a button.
 */
const placeholderStyle =
  'position:absolute;min-height:inherit;opacity:.09;' +
  'background:linear-gradient(90deg,currentColor calc(100% - 16px),#0000 0) 0/360px round;' +
  'mask:linear-gradient(#000 50%,#0000 0 55%,#000 0 60%,#0000 0 65%,#000 0 70%,#0000 0 85%,#000 0)';

/** Space reserved in the page for an embedded unit, so that the layout does not shift when its offers arrive. */
export type Space = {
  /** Target element, or its name. */
  requestedTarget: unknown;
  /** Stores the rendered height of the unit for the next page. */
  remember: () => void;
  release: () => void;
};

/**
 * Reserves space as soon as the target element exists, and shows a static placeholder there until the offers arrive.
 * The height is that of the last unit with the same name in an element of the same width. It overrides a `min-height`
 * in the element's `style` attribute, but not in a style sheet.
 */
export function keepSpace(requestedTarget: unknown, name: string): Space {
  let element: HTMLElement | null = null;
  const placeholder = h('div', { 'data-perkwire-space': '' });
  placeholder.style.cssText = placeholderStyle;
  const keyOf = (target: HTMLElement): string => `space:${name}:${Math.round(target.clientWidth / widthStepPx)}`;
  const setMinHeight = (value: string): void => void element?.style.setProperty('min-height', value);

  function place(): void {
    const target = findElement(requestedTarget);
    if (!(target instanceof HTMLElement)) return;
    observer.disconnect();
    const hasOwnMinHeight = target.style.minHeight !== '';
    placeholder.style.width = `${target.clientWidth}px`;
    removeCopies(target);
    if (!target.firstElementChild) target.append(placeholder);
    if (!hasOwnMinHeight && parseFloat(getComputedStyle(target).minHeight)) return;
    element = target;
    if (!hasOwnMinHeight) setMinHeight(`${Number(originStorage.read(keyOf(target))) || firstHeightPx}px`);
  }
  const observer = new MutationObserver(place);
  observer.observe(document, { childList: true, subtree: true });
  place();

  return {
    requestedTarget,
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
