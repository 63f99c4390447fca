import type { Offer } from '../types.ts';
import { isOpen, type UspState } from '../usp/state.ts';
import { brand, extras, loyalty, miniText, noButton, terms, title, type ViewContext, yesButton } from './components.ts';
import { h, newId } from './dom.ts';
import { imageElement, imageUrl } from './image.ts';

/** Greatest width of a tile's image (CSS pixels). */
const imageWidthPx = 360;

export type MultiView = { element: HTMLElement; tiles: Map<Offer, HTMLElement>; refresh: () => void };

/** The multi offer unit: a grid of offers, with User Selected Perks a checkbox for each. */
export function multiView(context: ViewContext, offers: readonly Offer[], usp: UspState | null): MultiView {
  const boxes: [Offer, HTMLInputElement, HTMLElement][] = [];
  const tiles = new Map(
    offers.map((offer) => {
      const heading = title(offer.short_headline, offer.short_headline);
      const box = usp === null ? null : perkCheckbox(context, offer, heading.id);
      const tile = h('li', 'tile', ...tileParts(context, offer, heading.element, box?.label ?? null));
      if (box !== null) boxes.push([offer, box.input, tile]);
      return [offer, tile];
    }),
  );
  const refresh = (): void => {
    for (const [offer, input, tile] of boxes) {
      input.checked = usp?.selected.has(offer.campaign_id) === true;
      input.disabled = usp === null || !isOpen(usp);
      tile.classList.toggle('selected', input.checked);
    }
  };
  refresh();
  return {
    element: h('ul', { class: `grid n${Math.min(offers.length, 4)}`, role: 'list' }, ...tiles.values()),
    tiles,
    refresh,
  };
}

function tileParts(
  context: ViewContext,
  offer: Offer,
  heading: HTMLElement,
  checkbox: HTMLElement | null,
): (HTMLElement | null)[] {
  const { styles } = context.answer;
  const image =
    styles.popup.showImage && styles.offerText.show_image
      ? imageElement(imageUrl(offer, ['offer_image', 'hero_image']), context.base, imageWidthPx)
      : null;
  const buttons =
    checkbox === null
      ? [yesButton(context, offer), noButton(context, offer, 'quiet')]
      : [checkbox, yesButton(context, offer, 'quiet')];
  return [
    image === null ? null : h('div', 'media', image),
    h(
      'div',
      'text',
      brand(context, offer),
      heading,
      h('p', 'description', offer.short_description),
      loyalty(offer),
      miniText(offer),
      h('div', 'buttons', ...buttons),
      extras(context, offer),
      terms(context, offer),
    ),
  ];
}

/** Its accessible name is its label and the offer's title. */
function perkCheckbox(
  context: ViewContext,
  offer: Offer,
  titleId: string,
): { label: HTMLElement; input: HTMLInputElement } {
  const id = newId();
  const change = (): void => context.actions.select(offer.campaign_id, input.checked);
  const input = h('input', { type: 'checkbox', 'aria-labelledby': `${id} ${titleId}`, change });
  const label = h('label', 'select', input, h('span', { id }, context.answer.settings.usp_cta_text));
  return { label, input };
}
