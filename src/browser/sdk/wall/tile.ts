import type { Answer, Offer } from '../types.ts';
import { anchor, button, h } from '../views/dom.ts';
import { picture, pictureUrl } from '../views/picture.ts';

export type TileContext = {
  answer: Answer;
  /** Origin of the service's own images. */
  base: string;
  /** A link was clicked: the host app may open it instead. */
  onLink: (url: string, event: Event) => void;
  openDetails: (offer: Offer) => void;
};

/** One offer of the wall; a featured one is wider, with its large picture. */
export function tile(offer: Offer, context: TileContext, featured: boolean): HTMLElement {
  const url = pictureUrl(offer, featured ? ['hero_image', 'offer_image'] : ['offer_image', 'icon_image']);
  const text = featured ? offer.description : offer.short_description;
  return h(
    'li',
    { class: 'tile', 'data-offer-id': offer.id },
    h('div', { class: 'picture' }, picture(url, context.base, featured ? 640 : 400)),
    h(
      'div',
      { class: 'text' },
      offer.advertiser_name !== '' && h('p', { class: 'brand' }, offer.advertiser_name),
      h(
        'h2',
        {},
        button('name', () => context.openDetails(offer), featured ? offer.title : offer.short_headline),
      ),
      text !== '' && h('p', { class: 'words' }, text),
      h(
        'div',
        { class: 'actions' },
        takeLink(offer, context),
        button('button', () => context.openDetails(offer), 'Details'),
      ),
    ),
  );
}

/** The positive call to action: a real link, so that no pop-up blocker stands in its way. */
export const takeLink = (offer: Offer, { onLink }: TileContext): HTMLElement =>
  anchor(
    offer.click_url,
    'button main',
    (event) => onLink(offer.click_url, event),
    offer.cta_yes,
    h('span', { class: 'sr' }, `: ${offer.short_headline} (opens in a new tab)`),
  );
