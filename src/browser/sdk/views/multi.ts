import type { Offer } from '../types.ts';
import type { Usp } from '../usp.ts';
import { h, newId } from './dom.ts';
import { brand, extras, loyalty, miniText, noButton, terms, title, type ViewContext, yesButton } from './parts.ts';
import { picture, pictureUrl } from './picture.ts';

/** Widest a tile's picture is shown (CSS pixels). */
const widthPx = 360;

export type MultiView = { element: HTMLElement; tiles: Map<Offer, HTMLElement>; refresh: () => void };

/** The multi offer unit: a grid of offers; with User Selected Perks each has a box to tick. */
export function multiView(context: ViewContext, offers: readonly Offer[], usp: Usp | null): MultiView {
  const boxes: [Offer, HTMLInputElement, HTMLElement][] = [];
  const tiles = new Map(
    offers.map((offer) => {
      const heading = title(offer.short_headline, offer.short_headline);
      const box = usp === null ? null : tickBox(context, offer, heading.id);
      const tile = h('li', { class: 'tile' }, ...tileParts(context, offer, heading.element, box?.label ?? null));
      if (box !== null) boxes.push([offer, box.input, tile]);
      return [offer, tile];
    }),
  );
  const refresh = (): void => {
    for (const [offer, input, tile] of boxes) {
      input.checked = usp?.isSelected(offer.campaign_id) === true;
      input.disabled = usp?.isOpen() !== true;
      tile.classList.toggle('ticked', input.checked);
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
  tick: HTMLElement | null,
): (HTMLElement | null)[] {
  const { styles } = context.answer;
  const image =
    styles.popup.showImage && styles.offerText.show_image
      ? picture(pictureUrl(offer, ['offer_image', 'hero_image']), context.base, widthPx)
      : null;
  const buttons =
    tick === null
      ? [yesButton(context, offer), noButton(context, offer, 'quiet')]
      : [tick, yesButton(context, offer, 'quiet')];
  return [
    image === null ? null : h('div', { class: 'media' }, image),
    h(
      'div',
      { class: 'text' },
      brand(context, offer),
      heading,
      h('p', { class: 'description' }, offer.short_description),
      loyalty(offer),
      miniText(offer),
      h('div', { class: 'buttons' }, ...buttons),
      extras(context, offer),
      terms(context, offer),
    ),
  ];
}

/** Named by its own label and the offer's title. */
function tickBox(context: ViewContext, offer: Offer, titleId: string): { label: HTMLElement; input: HTMLInputElement } {
  const id = newId();
  const change = (): void => context.actions.select(offer.campaign_id, input.checked);
  const input = h('input', { type: 'checkbox', 'aria-labelledby': `${id} ${titleId}`, change });
  const label = h('label', { class: 'tick' }, input, h('span', { id }, context.answer.settings.usp_cta_text));
  return { label, input };
}
