import type { Creative, Offer } from '../types.ts';
import { h } from './dom.ts';

/** The offer's creative of the first of these types that it has, else its primary image; "" without images. */
export function imageUrl(offer: Offer, types: readonly string[]): string {
  for (const type of types) {
    const found = offer.creatives.find((creative: Creative) => creative.creative_type === type);
    if (found !== undefined) return found.url;
  }
  return offer.image || (offer.creatives[0]?.url ?? '');
}

/** A decorative image. Images of the service are requested in the width at which they are shown. */
function imageElement(url: string, base: string, widthPx: number): HTMLElement | null {
  if (url === '') return null;
  const image = h('img', { alt: '', decoding: 'async', error: () => image.remove() });
  const isSized = url.startsWith(`${base}/images/`);
  if (isSized) image.srcset = `${withWidth(url, widthPx)} 1x, ${withWidth(url, widthPx * 2)} 2x`;
  image.src = isSized ? withWidth(url, widthPx) : url;
  return image;
}

/** A box of fixed shape for the image, which shows the advertiser's initial until it is there, or if it never is. */
export const media = (offer: Offer, types: readonly string[], base: string, widthPx: number): HTMLElement =>
  h(
    'div',
    { class: 'media', 'data-initial': [...offer.advertiser_name][0] ?? '' },
    imageElement(imageUrl(offer, types), base, widthPx),
  );

function withWidth(url: string, widthPx: number): string {
  const sized = new URL(url);
  sized.searchParams.set('width', String(widthPx));
  return sized.href;
}
