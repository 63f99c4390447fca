import type { Offer, OffersResponse } from '../types.ts';
import { anchor, button, h } from '../views/dom.ts';
import { media } from '../views/image.ts';
import type { WallWords } from './words.ts';

export type TileContext = {
  answer: OffersResponse;
  /** Origin of the service and its images. */
  base: string;
  words: WallWords;
  /** Called for every clicked link. A host app can open the link instead of the browser. */
  onLink: (url: string, event: Event) => void;
  openDetails: (offer: Offer) => void;
};

/** Renders an offer's tile. A featured tile is wider and shows the large image. */
export function tile(offer: Offer, context: TileContext, featured: boolean): HTMLElement {
  const types = featured ? ['hero_image', 'offer_image'] : ['offer_image', 'icon_image'];
  const text = featured ? offer.description : offer.short_description;
  return h(
    'li',
    { class: 'tile', 'data-offer-id': offer.id },
    media(offer, types, context.base, featured ? 640 : 400),
    h(
      'div',
      'text',
      offer.advertiser_name !== '' && h('p', 'brand', offer.advertiser_name),
      h(
        'h2',
        '',
        button('name', () => context.openDetails(offer), featured ? offer.title : offer.short_headline),
      ),
      text !== '' && h('p', 'words', text),
      h(
        'div',
        'actions',
        ctaLink(offer, context),
        button('button', () => context.openDetails(offer), context.words.offerwall.details),
      ),
    ),
  );
}

/** Renders the positive call to action. It is a real link, because pop-up blockers do not block links. */
export const ctaLink = (offer: Offer, { onLink, words }: TileContext): HTMLElement =>
  anchor(
    offer.click_url,
    'button main',
    (event) => onLink(offer.click_url, event),
    offer.cta_yes,
    h('span', 'sr', `: ${offer.short_headline} ${words.labels.newTab}`),
  );
