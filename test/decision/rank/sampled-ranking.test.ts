import { expect, test } from 'vitest';
import { decide } from '../../../src/decision/decide.ts';
import { mix } from '../../../src/decision/random.ts';
import { campaignOf, explainAtOnce, inputOf, offersOf, pays, publisherWith } from '../support.ts';

const many = 400;
const publisher = publisherWith(
  offersOf(
    ...Array.from({ length: many }, (_, at) =>
      campaignOf(at + 1, { advertiserId: at + 1, payout: pays('cpc', 0.5 + (at % 5) / 10) }),
    ),
  ),
);

test('hundreds of offers are ranked by score once each, even beyond those ranked at first', () => {
  for (let seed = 0; seed < 5; seed++) {
    const ranked = explainAtOnce(inputOf(publisher, { seed: mix(7, seed), context: { count: 5 } }))
      .filter(({ rank }) => rank !== null)
      .sort((a, b) => (a.rank as number) - (b.rank as number));
    expect(ranked.map(({ rank }) => rank)).toEqual(Array.from({ length: many }, (_, at) => at + 1));
    expect(new Set(ranked.map(({ offer }) => offer.id)).size).toBe(many);
    const scores = ranked.map(({ score }) => score as number);
    expect(scores.slice(2)).toEqual(scores.slice(2).sort((a, b) => b - a)); // the first may be there to be explored
  }
});

test('every one of hundreds of offers is sometimes first', () => {
  const leads = new Map<number, number>();
  for (let run = 0; run < 12_000; run++) {
    const [first] = decide(inputOf(publisher, { seed: mix(11, run), context: { count: 1 } })).offers;
    const id = first?.offer.id as number;
    leads.set(id, (leads.get(id) ?? 0) + 1);
  }
  expect(leads.size).toBeGreaterThan(many * 0.95);
  expect(Math.max(...leads.values())).toBeLessThan(12_000 * 0.03);
});

test('offers with equal scores are in catalogue order', () => {
  const amountOf = (id: number): number => 1 + (id % 3);
  const ids = Array.from({ length: 200 }, (_, at) => at + 1);
  const equal = publisherWith(offersOf(...ids.map((id) => campaignOf(id, { payout: pays('cpm', amountOf(id)) }))));
  const offerIds = decide(inputOf(equal, { seed: 4, context: { count: 200 } })).offers.map(({ offer }) => offer.id);
  expect(offerIds).toEqual([...ids].sort((a, b) => amountOf(b) - amountOf(a) || a - b));
});
