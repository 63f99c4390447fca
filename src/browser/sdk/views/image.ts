import type { Creative, Offer } from '../types.ts';
import { h } from './dom.ts';

/** Returns an offer's image URL: the creative of the first available type, or else the primary image, or else "". */
export function imageUrl(offer: Offer, types: readonly string[]): string {
  for (const type of types) {
    const match = offer.creatives.find((creative: Creative) => creative.creative_type === type);
    if (match !== undefined) return match.url;
  }
  return offer.image || (offer.creatives[0]?.url ?? '');
}

/** Creates a decorative image. Images hosted by the service are requested in the displayed width. */
function imageElement(url: string, base: string, widthPx: number): HTMLElement | null {
  if (url === '') return null;
  const image = h('img', { alt: '', decoding: 'async', error: () => image.remove() });
  const isSized = url.startsWith(`${base}/images/`);
  if (isSized) image.srcset = `${withWidth(url, widthPx)} 1x, ${withWidth(url, widthPx * 2)} 2x`;
  image.src = isSized ? withWidth(url, widthPx) : url;
  return image;
}

/**
 * Creates an image box with a fixed shape. It shows the advertiser's initial until the image has loaded, or if it fails
 * to load.
 */
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
