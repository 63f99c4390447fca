import { SdkError } from '../errors.ts';
import { sanitise } from '../sanitise.ts';
import type { AdConfig, Offer, RenderContext } from '../types.ts';

/**
 * Lets the page draw the unit: by `render`, or by a `template` that is cloned for each offer.
 * In a template, `data-ad="title"` names the field that fills an element, `data-ad-action="take"` the action of a
 * click: take, reject, back, close, save, select (a checkbox).
 * @returns the elements whose visibility counts, with their offers: those marked `data-offer-id`, else the whole unit
 */
export function customView(config: AdConfig, context: RenderContext): Map<Element, Offer> {
  if (config.render !== undefined) config.render(context);
  else for (const offer of context.offers) context.element.append(cloneTemplate(templateOf(config), offer, context));
  const marked = new Map<Element, Offer>();
  for (const offer of context.offers) {
    const element = context.element.querySelector(`[data-offer-id="${offer.id}"]`);
    if (element !== null) marked.set(element, offer);
  }
  return marked;
}

function templateOf({ template }: AdConfig): HTMLTemplateElement {
  const found = typeof template === 'string' ? document.querySelector(template) : template;
  if (!(found instanceof HTMLTemplateElement))
    throw new SdkError('render_error', 'There is no <template> of that name.');
  return found;
}

function cloneTemplate(template: HTMLTemplateElement, offer: Offer, context: RenderContext): HTMLElement {
  const item = document.createElement('div');
  item.dataset.offerId = String(offer.id);
  item.append(document.importNode(template.content, true));
  for (const element of item.querySelectorAll<HTMLElement>('[data-ad]')) fill(element, offer);
  for (const element of item.querySelectorAll<HTMLElement>('[data-ad-action]')) bind(element, offer, context);
  return item;
}

function fill(element: HTMLElement, offer: Offer): void {
  const name = element.dataset.ad as keyof Offer;
  const value = offer[name];
  if (typeof value !== 'string') return;
  if (element instanceof HTMLImageElement) element.src = value;
  else if (name === 'terms_and_conditions') element.replaceChildren(sanitise(offer[name]));
  else element.textContent = value;
}

function bind(element: HTMLElement, offer: Offer, { actions, selected }: RenderContext): void {
  const action = element.dataset.adAction;
  if (action === 'select' && element instanceof HTMLInputElement) {
    element.checked = selected.includes(offer.campaign_id);
    element.addEventListener('change', () => actions.select(offer.campaign_id, element.checked));
  } else if (action === 'take' || action === 'reject' || action === 'save')
    element.addEventListener('click', () => void actions[action](offer));
  else if (action === 'back' || action === 'close') element.addEventListener('click', () => actions[action]());
}
