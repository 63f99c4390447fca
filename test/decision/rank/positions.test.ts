import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Campaign, SequenceRule } from '../../../src/catalog/types.ts';
import { campaignOf, decideOfferIds, offersOf, sequenceRule } from '../support.ts';

const five = offersOf(
  campaignOf(1, { tags: ['travel'], category: 'trips' }),
  campaignOf(2, { tags: ['food', 'new'] }),
  campaignOf(3, { tags: ['loans'], category: 'money' }),
  campaignOf(4, { tags: ['food'] }),
  campaignOf(5, { advertiserId: 77 }),
);
const order = (...sequenceRules: SequenceRule[]): number[] =>
  decideOfferIds(five, { context: { count: 3 } }, { sequenceRules });
const allow = (id: number, over: Partial<SequenceRule>): SequenceRule => sequenceRule(id, { effect: 'allow', ...over });

describe('sequence rules', () => {
  test('leave the usual order unchanged if there are none', () => {
    expect(order()).toEqual([1, 2, 3]);
  });

  test('deny offers a position by any of their lists, so that the next best moves up', () => {
    expect(order(sequenceRule(1, { positions: [1], match: { tags: ['travel'] } }))).toEqual([2, 1, 3]);
    expect(order(sequenceRule(1, { positions: [1], match: { categories: ['trips'], campaigns: [2] } }))).toEqual([
      3, 1, 2,
    ]);
    expect(order(sequenceRule(1, { match: { offers: [1], advertisers: [1002] } }))).toEqual([3, 4, 5]);
  });

  test('reserve a position for the offers of an allow rule', () => {
    expect(order(allow(1, { positions: [1], match: { advertisers: [77] } }))).toEqual([5, 1, 2]);
    expect(order(allow(1, { positions: [2], match: { tags: ['food'] } }))).toEqual([1, 2, 3]);
    expect(order(allow(1, { match: { tags: ['food'] } }))).toEqual([2, 4]);
  });

  test('give deny precedence over allow', () => {
    expect(
      order(allow(1, { positions: [1], match: { tags: ['food'] } }), sequenceRule(2, { match: { campaigns: [2] } })),
    ).toEqual([4, 1, 3]);
  });

  test('apply for all positions first, then for several, then for one, and then by weight', () => {
    const all = allow(1, { match: { campaigns: [4] }, weight: 1 });
    const several = allow(2, { positions: [1, 2], match: { campaigns: [3] }, weight: 500 });
    const single = allow(3, { positions: [1], match: { campaigns: [5] }, weight: 900 });
    expect(order(single, several, all)).toEqual([4, 3]);
    expect(order(single, several)).toEqual([3]); // position 2 is reserved for a campaign that stands already
    expect(order(single)).toEqual([5, 1, 2]);
    expect(
      order(
        allow(1, { positions: [1], match: { campaigns: [2] }, weight: 5 }),
        allow(2, { positions: [1], match: { campaigns: [3] }, weight: 6 }),
      ),
    ).toEqual([3, 1, 2]);
  });

  test('apply only at their own placement', () => {
    const rule = sequenceRule(1, { placement: 'account', match: { campaigns: [1] } });
    expect(order(rule)).toEqual([1, 2, 3]);
    expect(decideOfferIds(five, { context: { count: 3, placement: 'account' } }, { sequenceRules: [rule] })).toEqual([
      2, 3, 4,
    ]);
  });

  test('deny offers on an offerwall only for all positions, and do not change its order', () => {
    const rules = [
      sequenceRule(1, { match: { campaigns: [1] } }),
      sequenceRule(2, { positions: [1], match: { campaigns: [2] } }),
      allow(3, { match: { campaigns: [5] } }),
    ];
    expect(decideOfferIds(five, { context: { surface: 'offerwall', count: 100 } }, { sequenceRules: rules })).toEqual([
      2, 3, 4, 5,
    ]);
  });

  test('apply to every position of every response, whatever the rules are', () => {
    const campaigns: Campaign[] = Array.from({ length: 12 }, (_, at) => campaignOf(at + 1, { tags: [`t${at % 4}`] }));
    const rules = fc.array(
      fc.record({
        effect: fc.constantFrom('allow', 'deny'),
        positions: fc.option(fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 })),
        tag: fc.integer({ min: 0, max: 3 }),
        weight: fc.integer({ min: 0, max: 3 }),
      }),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(rules, (list) => {
        const sequenceRules = list.map(({ effect, positions, tag, weight }, at) =>
          sequenceRule(at + 1, { effect, positions, weight, match: { tags: [`t${tag}`] } }),
        );
        const ids = decideOfferIds(offersOf(...campaigns), { context: { count: 5 } }, { sequenceRules });
        const mayStand = (id: number, position: number): boolean => {
          const here = sequenceRules.filter(({ positions }) => positions === null || positions.includes(position));
          const isMatchedBy = (effect: string): boolean =>
            here.some((rule) => rule.effect === effect && rule.match.tags?.includes(`t${(id - 1) % 4}`));
          return !isMatchedBy('deny') && (isMatchedBy('allow') || !here.some(({ effect }) => effect === 'allow'));
        };
        for (const [at, id] of ids.entries()) expect(mayStand(id, at + 1)).toBe(true);
        // The list is only shorter if no remaining offer is allowed.
        if (ids.length < 5)
          expect(campaigns.filter(({ id }) => !ids.includes(id) && mayStand(id, ids.length + 1))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
