import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Campaign, Creative, Offer } from '../../src/catalog/types.ts';
import { chooseOffers, type OptOuts, type Wish } from '../../src/decision/choose.ts';

const nowMs = 1_800_000_000_000;
const anything: Wish = { loyalty: 'also', onlyWithCreative: false, campaignId: null, limit: 10, dev: false };

const image: Creative = { id: 1, creativeType: 'icon_image', isPrimary: true, type: 'png', width: 1, height: 1, url: null, userId: 0 };

const campaign = (id: number, isLoyalty = false): Campaign => ({
  id,
  publisherId: 1,
  advertiserId: 1,
  advertiserName: 'A',
  name: 'C',
  category: '',
  tags: [],
  active: true,
  priority: 100,
  weight: 100,
  isProduct: false,
  isLoyalty,
  offerDescription: '',
  landingUrl: 'https://shop.example/',
  clickIdParam: 'click_id',
  optOutDays: null,
  payout: { kind: 'cpc', amountMicros: 0, currency: 'USD' },
  rules: {},
  provisions: new Map(),
  creatives: [],
});

const offer = (id: number, of: Campaign, creatives: readonly Creative[] = []): Offer => ({
  id,
  publisherId: 1,
  campaign: of,
  active: true,
  weight: 100,
  copy: { title: '', description: '', miniText: '', shortHeadline: '', shortDescription: '', ctaYes: '', ctaNo: '' },
  termsAndConditions: '',
  loyaltyRequirements: '',
  useractionCta: null,
  useractionUrl: null,
  advPixelUrl: '',
  walletEnabled: true,
  offerwallEnabled: true,
  creatives,
});

const idsOf = (offers: readonly Offer[]): number[] => offers.map(({ id }) => id);

/** The rules one after the other, each over the whole list. */
function naive(candidates: readonly Offer[], wish: Wish, optOuts: OptOuts): number[] {
  const optedOut = (id: number): boolean => {
    const entry = Object.entries(optOuts).find(([key]) => Number(key) === id);
    return entry !== undefined && (entry[1] === null || entry[1] * 1000 > nowMs);
  };
  return candidates
    .filter((one) => wish.loyalty === 'also' || one.campaign.isLoyalty === (wish.loyalty === 'only'))
    .filter((one) => !wish.onlyWithCreative || one.creatives.length > 0)
    .filter((one) => wish.campaignId === null || one.campaign.id === wish.campaignId)
    .filter((one) => wish.dev || !optedOut(one.campaign.id))
    .filter((one, index, list) => list.findIndex((other) => other.campaign.id === one.campaign.id) === index)
    .slice(0, wish.limit)
    .map(({ id }) => id);
}

const campaigns = Array.from({ length: 6 }, (_, index) => campaign(index + 1, index % 3 === 0));

const candidatesOf = fc
  .array(fc.record({ of: fc.constantFrom(...campaigns), pictured: fc.boolean() }), { maxLength: 20 })
  .map((list) => list.map(({ of, pictured }, index) => offer(index + 1, of, pictured ? [image] : [])));

const wishes: fc.Arbitrary<Wish> = fc.record({
  loyalty: fc.constantFrom('none', 'also', 'only'),
  onlyWithCreative: fc.boolean(),
  campaignId: fc.option(fc.integer({ min: 1, max: 8 })),
  limit: fc.integer({ min: 0, max: 10 }),
  dev: fc.boolean(),
});

const optOutsOf: fc.Arbitrary<OptOuts> = fc.dictionary(
  fc.constantFrom('1', '2', '3', '4', '5', '6'),
  fc.option(fc.integer({ min: nowMs / 1000 - 2, max: nowMs / 1000 + 2 })),
);

describe('the offers shown', () => {
  test('are those of the rules taken one by one, for any catalogue, wish and opt-outs', () => {
    fc.assert(
      fc.property(candidatesOf, wishes, optOutsOf, (candidates, wish, optOuts) => {
        expect(idsOf(chooseOffers(candidates, wish, optOuts, nowMs))).toEqual(naive(candidates, wish, optOuts));
      }),
      { numRuns: 3000 },
    );
  });

  test('are one of each campaign, the best ranked', () => {
    const [a, b] = [campaign(1), campaign(2)];
    expect(idsOf(chooseOffers([offer(1, a), offer(2, a), offer(3, b), offer(4, a)], anything, {}, nowMs))).toEqual([1, 3]);
  });

  test('come from the next copy variant of a campaign when the best one has no image and one is asked for', () => {
    const only = campaign(1);
    expect(idsOf(chooseOffers([offer(1, only), offer(2, only, [image])], { ...anything, onlyWithCreative: true }, {}, nowMs))).toEqual([2]);
  });

  test('leave out a campaign the user declined until the opt-out ends, to the second', () => {
    const candidates = [offer(1, campaign(1))];
    const until = (endMs: number): number[] => idsOf(chooseOffers(candidates, anything, { 1: endMs / 1000 }, nowMs));
    expect(until(nowMs + 1000)).toEqual([]);
    expect(until(nowMs)).toEqual([1]);
    expect(idsOf(chooseOffers(candidates, anything, { 1: null }, nowMs))).toEqual([]);
  });

  test('in dev mode are those of users who declined nothing', () => {
    expect(idsOf(chooseOffers([offer(1, campaign(1))], { ...anything, dev: true }, { 1: null }, nowMs))).toEqual([1]);
  });
});
