import { describe, expect, test } from 'vitest';
import type { Offer, Payout } from '../../../src/catalog/types.ts';
import { decide } from '../../../src/decision/decide.ts';
import { mix, uniform } from '../../../src/decision/random.ts';
import { warmUpImpressions } from '../../../src/learning/rate-posteriors.ts';
import type { Counts, Posteriors } from '../../../src/learning/types.ts';
import { campaignOf, inputOf, offersOf, pays, publisherWith } from '../support.ts';

const model = (here: ReadonlyMap<number, Counts>, over: Partial<Posteriors> = {}): Posteriors => {
  const all = { impressions: 0, clicks: 0, conversions: 0 };
  for (const { impressions, clicks, conversions } of here.values()) {
    all.impressions += impressions;
    all.clicks += clicks;
    all.conversions += conversions;
  }
  return {
    placements: new Map([['1 checkout', here]]),
    offers: here,
    categories: new Map([['', all]]),
    averageSaleMicros: new Map(),
    ...over,
  };
};

/** How often each offer is first, over many seeds. */
function firsts(offers: readonly Offer[], posteriors: Posteriors, runs = 4000): Map<number, number> {
  const publisher = publisherWith(offers);
  const found = new Map<number, number>();
  for (let seed = 0; seed < runs; seed++) {
    const [first] = decide(inputOf(publisher, { seed: mix(3, seed), posteriors, context: { count: 1 } })).offers;
    found.set(first?.offer.id ?? 0, (found.get(first?.offer.id ?? 0) ?? 0) + 1 / runs);
  }
  return found;
}

const counts = (impressions: number, clicks: number, conversions = 0): Counts => ({ impressions, clicks, conversions });

describe('expected revenue', () => {
  const firstOf = (payouts: readonly Payout[], known: readonly Counts[], over: Partial<Posteriors> = {}): number => {
    const offers = offersOf(...payouts.map((payout, at) => campaignOf(at + 1, { payout })));
    const found = firsts(offers, model(new Map(known.map((one, at) => [at + 1, one])), over), 300);
    return [...found].sort((a, b) => b[1] - a[1])[0]?.[0] as number;
  };

  test('is click rate by payout, conversion rate with it, and payout alone where impressions pay', () => {
    const known = counts(1_000_000, 20_000, 2_000); // 2 % click, 10 % of these convert
    expect(firstOf([pays('cpc', 0.5), pays('cpc', 0.4)], [known, known])).toBe(1);
    expect(firstOf([pays('cpc', 0.5), pays('cpa', 6)], [known, known])).toBe(2); // 0.010 and 0.012
    expect(firstOf([pays('cpa', 6), pays('cpm', 13)], [known, known])).toBe(2); // 0.012 and 0.013
    expect(
      firstOf([pays('cpm', 13), pays('cps', 10)], [known, known], { averageSaleMicros: new Map([[2, 70_000_000]]) }),
    ).toBe(2); // 0.013 and 0.014
    expect(
      firstOf([pays('cpm', 13), pays('cps', 10)], [known, known], { averageSaleMicros: new Map([[2, 60_000_000]]) }),
    ).toBe(1);
  });

  test('counts what happened at the placement, then elsewhere, then in the category', () => {
    const offers = offersOf(
      campaignOf(1, { payout: pays('cpc', 1), category: 'a' }),
      campaignOf(2, { payout: pays('cpc', 1), category: 'b' }),
    );
    const first = (posteriors: Partial<Posteriors>): number =>
      firsts(offers, model(new Map(), { placements: new Map(), ...posteriors }), 1000).get(2) ?? 0;
    const categories = new Map([
      ['a', counts(100_000, 1_000)],
      ['b', counts(100_000, 8_000)],
    ]);
    expect(first({ categories })).toBeGreaterThan(0.8);
    const everywhere = new Map([
      [1, counts(50_000, 4_000)],
      [2, counts(50_000, 500)],
    ]);
    expect(first({ categories, offers: everywhere })).toBeLessThan(0.1);
    const here = new Map([
      [1, counts(20_000, 10)],
      [2, counts(20_000, 400)],
    ]);
    expect(first({ categories, offers: everywhere, placements: new Map([['1 checkout', here]]) })).toBeGreaterThan(0.9);
  });

  test('is not taken from the first impressions of an offer', () => {
    const offers = offersOf(campaignOf(1, { payout: pays('cpc', 1) }), campaignOf(2, { payout: pays('cpc', 1) }));
    const share = (own: Counts): number =>
      firsts(
        offers,
        model(
          new Map([
            [1, counts(100_000, 2_000)],
            [2, own],
          ]),
          { categories: new Map([['', counts(200_000, 4_000)]]) },
        ),
      ).get(2) ?? 0;
    const fresh = share(counts(0, 0));
    expect(Math.abs(share(counts(warmUpImpressions - 1, 0)) - fresh)).toBeLessThan(0.03);
    expect(Math.abs(share(counts(warmUpImpressions - 1, 30)) - fresh)).toBeLessThan(0.03);
    expect(share(counts(400, 0))).toBeLessThan(fresh / 4);
  });
});

test('one decision in a hundred puts an offer first that would hardly ever be', () => {
  const offers = offersOf(...Array.from({ length: 10 }, (_, at) => campaignOf(at + 1, { payout: pays('cpc', 1) })));
  const known = new Map(offers.map(({ id }) => [id, counts(1_000_000, id === 1 ? 100_000 : 1_000)]));
  const found = firsts(offers, model(known), 40_000);
  expect(1 - (found.get(1) ?? 0)).toBeGreaterThan(0.006);
  expect(1 - (found.get(1) ?? 0)).toBeLessThan(0.012);
  expect(found.size).toBe(10);
});

test('scores have the mean and the spread of the posterior, with counts twice as sharp', () => {
  const impressions = 1_000_000;
  for (const clicks of [50, 500, 20_000, 400_000]) {
    const publisher = publisherWith(offersOf(campaignOf(1, { payout: pays('cpc', 1) })));
    const posteriors = model(new Map([[1, counts(impressions, clicks)]]));
    const rates = Array.from({ length: 20_000 }, (_, at) => {
      const [shown] = decide(inputOf(publisher, { posteriors, seed: mix(11, at) })).offers;
      return (shown?.score ?? 0) / 1_000_000;
    });
    const mean = rates.reduce((all, rate) => all + rate, 0) / rates.length;
    const deviation = Math.sqrt(rates.reduce((all, rate) => all + (rate - mean) ** 2, 0) / rates.length);
    const rate = clicks / impressions;
    expect(mean / rate).toBeCloseTo(1, 1);
    expect(deviation / Math.sqrt((rate * (1 - rate)) / (2 * impressions))).toBeCloseTo(1, 1);
  }
});

test('the regret of learning is at most half of that of exploring a fixed share of impressions', () => {
  const rounds = 100_000;
  const arms = 10;
  const rates = Array.from({ length: arms }, (_, at) => 0.005 + 0.095 * uniform(123, at));
  const best = Math.max(...rates);
  const offers = offersOf(...rates.map((_, at) => campaignOf(at + 1, { payout: pays('cpc', 1) })));
  const publisher = publisherWith(offers);

  /** Learns from its own impressions; counts are read anew each 200 rounds, as posteriors are. */
  function regretOf(world: number, choose: (known: ReadonlyMap<number, Counts>, round: number) => number): number {
    const live = offers.map(() => counts(0, 0));
    let known: ReadonlyMap<number, Counts> = new Map();
    let regret = 0;
    for (let round = 0; round < rounds; round++) {
      if (round % 200 === 0) known = new Map(live.map((one, at) => [at + 1, { ...one }]));
      const arm = choose(known, round) - 1;
      const rate = rates[arm] as number;
      regret += best - rate;
      const own = live[arm] as Counts;
      own.impressions += 1;
      if (uniform(world, round) < rate) own.clicks += 1;
    }
    return regret;
  }

  let thompson = 0;
  let greedy = 0;
  for (let world = 1; world <= 3; world++) {
    let posteriors = model(new Map());
    let from: ReadonlyMap<number, Counts> | null = null;
    thompson += regretOf(world, (known, round) => {
      if (known !== from) posteriors = model(known);
      from = known;
      return decide(inputOf(publisher, { posteriors, seed: mix(world, round), context: { count: 1 } })).offers[0]?.offer
        .id as number;
    });
    let leader = 0;
    greedy += regretOf(world, (known, round) => {
      const rate = ({ impressions, clicks }: Counts): number => (impressions === 0 ? 1 : clicks / impressions);
      if (known !== from) leader = [...known].reduce((a, b) => (rate(b[1]) > rate(a[1]) ? b : a))[0];
      from = known;
      return uniform(world + 50, round) < 0.1 ? 1 + Math.floor(uniform(world + 90, round) * arms) : leader;
    });
  }
  expect(thompson).toBeLessThan(greedy / 2);
});
