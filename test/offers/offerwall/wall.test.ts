import { expect, test } from 'vitest';
import type { Offer } from '../../../src/catalog/types.ts';
import { selectPage, type WallOffers } from '../../../src/offers/offerwall/wall.ts';

const offerOf = (id: number) =>
  ({ id, campaign: { category: 'food', advertiserName: 'A' }, copy: { title: `Offer ${id}` } }) as unknown as Offer;
const filter = { text: '', category: null };

test('an offerwall opened by a link shows each offer once for any page size and then ends', () => {
  const wall: WallOffers = {
    offers: [1, 2, 3].map(offerOf),
    linked: { offer: offerOf(9), token: 'token' },
  };
  for (const limit of [1, 2, 3, 4, 5]) {
    const shownIds: number[] = [];
    let at: number | null = 0;
    for (let pages = 0; at !== null; pages++) {
      expect(pages).toBeLessThan(5);
      const { page, next } = selectPage(wall, at, { limit, filter });
      shownIds.push(...page.map(({ offer }) => offer.id));
      at = next;
    }
    expect(shownIds).toEqual([9, 1, 2, 3]);
  }
});
