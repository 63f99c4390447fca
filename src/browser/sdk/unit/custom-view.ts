import { urlOf } from '../answer.ts';
import { setChildren } from '../compat.ts';
import { SdkError } from '../errors.ts';
import { parseHtml, sanitise } from '../sanitise.ts';
import type { AdConfig, Offer, RenderUnit } from '../types.ts';
import { anchor, h } from '../views/dom.ts';
import type { Frame } from './frame.ts';
import { currentOffers } from './state.ts';
import { findElement } from './target.ts';
import type { Unit } from './types.ts';

/** Returns whether the page renders the unit itself. */
export const isCustom = ({ render, template }: AdConfig): boolean => render !== undefined || template !== undefined;

/**
 * Embeds content that the page renders. It has no frame and no shadow root, so that the page's styles and selectors
 * apply.
 */
export function openBareFrame(target: Element): Frame {
  const host = h('div', { 'data-perkwire': '' });
  setChildren(target, host);
  const slotElement = (): HTMLElement => {
    const element = h('div');
    setChildren(host, element);
    return element;
  };
  return { host, setContent: () => {}, slotElement, announce: () => {}, remove: () => host.remove() };
}

/**
 * Lets the page render the unit. The `template` is cloned for each offer, and `render` is called with the clone.
 * Template attributes:
 * - `data-ad="title"` specifies the offer field to insert.
 * - `data-ad-action="take"` specifies the action on click: take, reject, back, close, save, or select (a checkbox).
 * @returns the elements whose visibility is measured, each with its offer
 * @throws SdkError render_error
 */
export function customView(unit: Unit): Map<Element, Offer> {
  const { config, answer, frame, offers } = unit;
  unit.refresh = () => {};
  const slot = frame.slotElement();
  const elements = currentOffers(unit).map((offer): [Element, Offer] => {
    const element = h('div', { 'data-offer-id': offer.id });
    slot.append(element);
    if (config.template !== undefined) element.append(contentOf(config.template));
    for (const part of element.querySelectorAll<HTMLElement>('[data-ad]')) fill(part, offer, unit);
    for (const part of element.querySelectorAll<HTMLElement>('[data-ad-action]')) bind(part, offer, unit);
    element.addEventListener('click', (event) => reportLink(event, unit));
    const index = offers.indexOf(offer);
    const drawn = config.render?.(offer, index, answer.settings, answer.styles, renderUnitOf(unit, element));
    if (drawn === false) throw new SdkError('render_error', 'AdConfig.render returned false.');
    if (typeof drawn === 'string') setChildren(element, parseHtml(drawn));
    else if (drawn instanceof Node) setChildren(element, drawn);
    return [element, offer];
  });
  return new Map(elements);
}

const renderUnitOf = (unit: Unit, element: HTMLElement): RenderUnit => ({
  element,
  total: unit.offers.length,
  selected: [...(unit.usp?.selected ?? [])],
  actions: { ...unit.actions, take: (offer = currentOffers(unit)[0]) => offer && follow(unit, offer) },
});

/** Accepts an offer and opens its link like any link in the page. */
function follow(unit: Unit, offer: Offer): void {
  const link = anchor(offer.click_url, '', (event) => unit.onLink(offer.click_url, event));
  link.click();
  unit.actions.take(offer);
}

/**
 * Reports clicks on links that the page rendered in the same way as clicks on SDK links, unless the page's own handler
 * opened them.
 */
function reportLink(event: Event, { onLink }: Unit): void {
  const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^=http]:not([data-ad-action=take])');
  if (link !== null && !event.defaultPrevented) onLink(link.href, event);
}

/**
 * Returns the content of a template.
 * @throws SdkError
 */
function contentOf(template: string | Element): Node {
  if (typeof template === 'string' && template.includes('<')) return parseHtml(template);
  const element = findElement(template);
  if (!element) throw new SdkError('render_error', 'Element AdConfig.template not found.');
  return element instanceof HTMLTemplateElement
    ? document.importNode(element.content, true)
    : parseHtml(element.textContent ?? '');
}

function fill(element: HTMLElement, offer: Offer, { answer }: Unit): void {
  const name = element.dataset.ad as keyof Offer;
  const value = offer[name];
  if (typeof value !== 'string') return;
  const url = urlOf(value);
  if (element instanceof HTMLImageElement) element.src = url;
  else if (element instanceof HTMLAnchorElement && url !== '') Object.assign(element, { href: url, target: '_blank' });
  else if (name === 'terms_and_conditions') setChildren(element, sanitise(value, answer.terms));
  else element.textContent = value;
}

function bind(element: HTMLElement, offer: Offer, unit: Unit): void {
  const { actions, usp, onLink } = unit;
  const action = element.dataset.adAction;
  const click = (event: Event): void => {
    if (action === 'take' && element instanceof HTMLAnchorElement && element.href !== '') {
      onLink(element.href, event);
      actions.take(offer);
    } else if (action === 'take') follow(unit, offer);
    else if (action === 'reject' || action === 'save') void actions[action](offer);
    else if (action === 'back' || action === 'close') actions[action]();
  };
  if (action === 'select' && element instanceof HTMLInputElement) {
    const { refresh } = unit;
    const tick = (): void => {
      element.checked = usp?.selected.has(offer.campaign_id) === true;
    };
    tick();
    unit.refresh = () => {
      refresh();
      tick();
    };
    element.addEventListener('change', () => {
      actions.select(offer.campaign_id, element.checked);
      tick(); // a confirmed selection can't change
    });
  } else element.addEventListener('click', click);
}
