import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Campaign, Offer, Theme } from '../../src/catalog/types.ts';
import { decide } from '../../src/decision/decide.ts';
import {
  campaignOf,
  counts,
  decideOfferIds,
  imageCreative,
  inputOf,
  modelOf,
  noonMs,
  offerOf,
  offersOf,
  pays,
  provisionTo,
  publisherWith,
  shownBy,
  withRules,
} from './support.ts';

describe('the order of offers', () => {
  test('is by forced priority, priority, campaign weight, campaign, offer weight and ID', () => {
    const offers = offersOf(
      campaignOf(1),
      campaignOf(2, { priority: 50 }),
      campaignOf(3, { weight: 200 }),
      withRules(4, { force_priority: true }, { priority: 900 }),
      campaignOf(5),
    );
    expect(decideOfferIds(offers)).toEqual([4, 2, 3, 1, 5]);
  });

  test('is the same for every seed if no offer pays', () => {
    const offers = offersOf(...[3, 1, 2].map((id) => campaignOf(id)));
    for (let seed = 0; seed < 500; seed++) expect(decideOfferIds(offers, { seed })).toEqual([1, 2, 3]);
  });

  test("uses the publisher's priority for a campaign instead of the campaign's own", () => {
    const first = campaignOf(9, { provisions: new Map([[1, provisionTo(1, { priority: 0 })]]) });
    expect(decideOfferIds(offersOf(campaignOf(1), first))).toEqual([9, 1]);
  });

  test('puts paying offers before others only within the same priority', () => {
    const paying = campaignOf(3, { payout: pays('cpm', 5) });
    expect(decideOfferIds(offersOf(campaignOf(1, { weight: 900 }), campaignOf(2, { priority: 1 }), paying))).toEqual([
      2, 3, 1,
    ]);
  });
});

describe('a response contains', () => {
  test('one offer per campaign: the best one, or the next that fits', () => {
    const only = campaignOf(1);
    const [plain, withImage] = [offerOf(1, only, { weight: 200 }), offerOf(2, only, { creatives: [imageCreative] })];
    expect(decideOfferIds([plain, withImage])).toEqual([1]);
    expect(decideOfferIds([plain, withImage], { context: { onlyWithCreative: true } })).toEqual([2]);
  });

  test('one offer per advertiser, and one campaign per exclusion group', () => {
    expect(
      decideOfferIds(offersOf(campaignOf(1, { advertiserId: 7 }), campaignOf(2, { advertiserId: 7 }), campaignOf(3))),
    ).toEqual([1, 3]);
    const [a, b, c] = [
      { exclusion_groups: ['cars', 'loans'] },
      { exclusion_groups: ['loans'] },
      { exclusion_groups: ['games'] },
    ];
    expect(decideOfferIds(offersOf(withRules(1, a), withRules(2, b), withRules(3, c)))).toEqual([1, 3]);
  });

  test('every eligible campaign on an offerwall, even of the same advertiser', () => {
    const offers = offersOf(...Array.from({ length: 30 }, (_, at) => campaignOf(at + 1, { advertiserId: 7 })));
    expect(
      decideOfferIds([...offers, offerOf(99, offers[0]?.campaign as Campaign)], {
        context: { surface: 'offerwall', count: Number.POSITIVE_INFINITY },
      }),
    ).toHaveLength(30);
  });

  test('no campaign that the user declined, until the opt-out ends, to the second', () => {
    const until = (end: number | null): number[] =>
      decideOfferIds(offersOf(campaignOf(1)), { history: { optOuts: { 1: end }, exposures: [] } });
    expect(until(noonMs / 1000 + 1)).toEqual([]);
    expect(until(noonMs / 1000)).toEqual([1]);
    expect(until(null)).toEqual([]);
  });

  test('offers in dev and test mode despite their rules, caps and opt-outs', () => {
    const strict = withRules(1, {
      targeting: { countries: { include: ['US'] } },
      schedule: { end_at: '2020-01-01T00:00:00Z' },
      conditions: { key: 'x', op: 'exists' },
      without_identity: 'withhold',
      total_caps: [{ metric: 'impressions', per: 'day', limit: 1 }],
    });
    const options = { history: { optOuts: { 1: null }, exposures: [] }, context: { userKey: null } };
    expect(decideOfferIds(offersOf(strict), options)).toEqual([]);
    expect(decideOfferIds(offersOf(strict), { ...options, context: { ...options.context, dev: true } })).toEqual([1]);
    expect(decideOfferIds(offersOf(strict), options, { testMode: true, deliveryPercentage: 0 })).toEqual([1]);
    expect(decideOfferIds(offersOf({ ...strict, active: false }), { context: { dev: true } })).toEqual([]);
    expect(
      decideOfferIds(offersOf({ ...strict, isLoyalty: true }), { context: { dev: true, loyalty: 'none' } }),
    ).toEqual([]);
  });
});

describe('the ad unit', () => {
  const theme = (over: Partial<Theme>): Theme => ({
    id: 1,
    key: 'theme',
    name: '',
    unit: 'mou',
    uspEnabled: false,
    uspCheckAll: false,
    offersPerResponse: null,
    deliveryPercentage: null,
    unitEnabled: null,
    settings: {},
    styles: {},
    appearance: {},
    ...over,
  });
  const placement = {
    name: 'checkout',
    themeId: null,
    offersPerResponse: null,
    deliveryPercentage: null,
    unitEnabled: null,
  };
  const three = offersOf(campaignOf(1), campaignOf(2), campaignOf(3));

  test('takes its on/off switch and its size from the placement, or else the theme, or else the publisher', () => {
    const count = (own: object, ofTheme: Partial<Theme>, ofPlacement: object): number => {
      const publisher = publisherWith(three, {
        ...own,
        placements: new Map([['checkout', { ...placement, ...ofPlacement }]]),
      });
      return decide(inputOf(publisher, { theme: theme(ofTheme) })).offers.length;
    };
    expect(count({ offersPerResponse: 1 }, {}, {})).toBe(1);
    expect(count({ offersPerResponse: 1 }, { offersPerResponse: 2 }, {})).toBe(2);
    expect(count({ offersPerResponse: 1 }, { offersPerResponse: 2 }, { offersPerResponse: 3 })).toBe(3);
    expect(count({ unitEnabled: false }, {}, {})).toBe(0);
    expect(count({ unitEnabled: false }, { unitEnabled: true }, {})).toBe(3);
    expect(count({}, { unitEnabled: true }, { unitEnabled: false })).toBe(0);
    expect(count({ deliveryPercentage: 0 }, {}, {})).toBe(0);
    expect(count({ deliveryPercentage: 0 }, {}, { deliveryPercentage: 100 })).toBe(3);
  });

  test('gives offers to the configured share of users, and to the same users when the share grows', () => {
    const among = (deliveryPercentage: number): string[] => {
      const publisher = publisherWith(three, { deliveryPercentage });
      const users = Array.from({ length: 2000 }, (_, at) => `user-${at}`);
      return users.filter(
        (userKey, seed) => decide(inputOf(publisher, { seed, context: { userKey } })).offers.length > 0,
      );
    };
    const [few, more] = [among(30), among(60)];
    expect(Math.abs(few.length - 600)).toBeLessThan(80);
    expect(Math.abs(more.length - 1200)).toBeLessThan(80);
    expect(few.every((user) => more.includes(user))).toBe(true);
    expect(among(30)).toEqual(few);
    expect(among(100)).toHaveLength(2000);
  });

  test('reports why it shows nothing', () => {
    const reason = (offers: readonly Offer[], own: object): string | null =>
      decide(inputOf(publisherWith(offers, own))).emptyReason;
    expect(reason(three, {})).toBeNull();
    expect(reason(three, { unitEnabled: false })).toBe('unit_off');
    expect(reason(three, { deliveryPercentage: 0 })).toBe('percentage');
    expect(reason([], {})).toBe('no_campaigns');
    expect(reason(offersOf(withRules(1, { conditions: { key: 'x', op: 'exists' } })), {})).toBe('nothing_eligible');
  });
});

test('the same input gives the same decision, bit for bit, with separately built indexes', () => {
  const campaigns = fc.array(
    fc.record({
      priority: fc.integer({ min: 1, max: 2 }),
      amount: fc.constantFrom(0, 0.5, 2),
      kind: fc.constantFrom('cpc', 'cpa', 'cpm', 'cps'),
      clicks: fc.integer({ min: 0, max: 300 }),
    }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(campaigns, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (list, seed) => {
      const offers = offersOf(
        ...list.map(({ priority, amount, kind }, at) => campaignOf(at + 1, { priority, payout: pays(kind, amount) })),
      );
      const countsByOffer = new Map(
        list.map(({ clicks }, at) => [at + 1, counts(1000, clicks, Math.floor(clicks / 9))]),
      );
      const once = () =>
        decide(
          inputOf(publisherWith(offers), {
            seed,
            model: modelOf(offers, countsByOffer),
          }),
        );
      const [first, second] = [once(), once()];
      expect(second).toEqual(first);
      expect(shownBy(second)).toHaveLength(Math.min(10, list.length));
    }),
    { numRuns: 300 },
  );
});
