import type { Offer } from '../../catalog/types.ts';

/** Filter for the offers on an offerwall. An empty string or a null category matches everything. */
export type WallFilter = { text: string; category: string | null };

/**
 * Returns the offers that match the filter. Every word of the text must appear in the copy, advertiser, category or
 * tags, ignoring case and accents.
 */
export function filterOffers(offers: readonly Offer[], { text, category }: WallFilter): readonly Offer[] {
  const words = normalise(text)
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0 && category === null) return offers;
  return offers.filter((offer) => {
    if (category !== null && offer.campaign.category !== category) return false;
    if (words.length === 0) return true;
    const content = contentOf(offer);
    return words.every((word) => content.includes(word));
  });
}

/**
 * Returns the categories of the offers, starting with the one that has the most offers. Offers without a category are
 * ignored.
 */
export function categoriesOf(offers: readonly Offer[]): string[] {
  const counts = new Map<string, number>();
  for (const { campaign } of offers)
    if (campaign.category !== '') counts.set(campaign.category, (counts.get(campaign.category) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([name]) => name);
}

const contents = new WeakMap<Offer, string>();

function contentOf(offer: Offer): string {
  let content = contents.get(offer);
  if (content === undefined) {
    const { copy, campaign } = offer;
    content = normalise(
      [
        copy.title,
        copy.shortHeadline,
        copy.description,
        copy.shortDescription,
        campaign.advertiserName,
        campaign.category,
        ...campaign.tags,
      ].join('\n'),
    );
    contents.set(offer, content);
  }
  return content;
}

const normalise = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
