import type { Offer } from '../types.ts';
import { isOpen, type UspState } from '../usp/state.ts';
import {
  brand,
  lastRow,
  loyalty,
  miniText,
  noButton,
  thirdAction,
  title,
  type ViewContext,
  yesButton,
} from './components.ts';
import { h, newId } from './dom.ts';
import { imageUrl, media } from './image.ts';

const imageTypes = ['offer_image', 'hero_image'];

/** Maximum image width in a tile, in CSS pixels. */
const imageWidthPx = 360;

export type MultiView = { element: HTMLElement; tiles: Map<Offer, HTMLElement>; refresh: () => void };

/** Renders a multi offer unit, which is a grid of offers. With User Selected Perks, each offer has a checkbox. */
export function multiView(context: ViewContext, offers: readonly Offer[], usp: UspState | null): MultiView {
  const { popup, offerText } = context.answer.styles;
  const withImages =
    popup.showImage && offerText.show_image && offers.some((offer) => imageUrl(offer, imageTypes) !== '');
  const boxes: [Offer, HTMLInputElement, HTMLElement][] = [];
  const tiles = new Map(
    offers.map((offer) => {
      const heading = title(offer.short_headline);
      const box = usp === null ? null : perkCheckbox(context, offer, heading.id);
      const image = withImages && media(offer, imageTypes, context.base, imageWidthPx);
      const tile = h('li', 'tile', image, tileText(context, offer, heading.element, box?.label ?? null));
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

function tileText(context: ViewContext, offer: Offer, heading: HTMLElement, checkbox: HTMLElement | null): HTMLElement {
  const yes = yesButton(context, offer, checkbox === null ? 'btn yes' : 'btn minor');
  const third = thirdAction(context, offer, checkbox === null ? 'btn minor' : 'quiet');
  const [buttons, quiet] =
    checkbox === null ? [[yes, third], noButton(context, offer, 'quiet')] : [[checkbox, yes], third];
  return h(
    'div',
    'text',
    brand(context, offer),
    heading,
    h('p', 'description', offer.short_description),
    loyalty(offer),
    miniText(offer),
    h('div', 'buttons', ...buttons),
    lastRow(context, offer, quiet),
  );
}

/** Creates a checkbox whose accessible name consists of its label and the offer title. */
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
