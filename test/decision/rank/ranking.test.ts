import { describe, expect, test } from 'vitest';
import type { Offer, Payout } from '../../../src/catalog/types.ts';
import { decide } from '../../../src/decision/decide.ts';
import { mix, uniform } from '../../../src/decision/random.ts';
import type { Model } from '../../../src/learning/model.ts';
import { simulateLearner, startMs } from '../../learning/support.ts';
import { type Counts, campaignOf, counts, inputOf, modelOf, offersOf, pays, publisherWith } from '../support.ts';

/** Counts how often each offer ranks first, over many seeds. */
function countFirsts(offers: readonly Offer[], model: Model, runs = 4000): Map<number, number> {
  const publisher = publisherWith(offers);
  const countByOffer = new Map<number, number>();
  for (let seed = 0; seed < runs; seed++) {
    const [first] = decide(inputOf(publisher, { seed: mix(3, seed), model, context: { count: 1 } })).offers;
    countByOffer.set(first?.offer.id ?? 0, (countByOffer.get(first?.offer.id ?? 0) ?? 0) + 1 / runs);
  }
  return countByOffer;
}

describe('expected revenue', () => {
  const firstOf = (payouts: readonly Payout[], countsOfOffers: readonly Counts[], saleMicros = 0): number => {
    const offers = offersOf(...payouts.map((payout, at) => campaignOf(at + 1, { payout })));
    const model = modelOf(offers, new Map(countsOfOffers.map((counts, at) => [at + 1, counts])));
    if (saleMicros > 0) model.sales.set(2, { micros: 3 * saleMicros, count: 3 });
    const timesFirst = countFirsts(offers, model, 300);
    return [...timesFirst].sort((a, b) => b[1] - a[1])[0]?.[0] as number;
  };

  test('is click rate times payout, times conversion rate if conversions pay, or the impression payout', () => {
    const rates = counts(1_000_000, 20_000, 2_000); // 2% click, 10% of these convert
    expect(firstOf([pays('cpc', 0.5), pays('cpc', 0.4)], [rates, rates])).toBe(1);
    expect(firstOf([pays('cpc', 0.5), pays('cpa', 6)], [rates, rates])).toBe(2); // 0.010 and 0.012
    expect(firstOf([pays('cpa', 6), pays('cpm', 13)], [rates, rates])).toBe(2); // 0.012 and 0.013
    expect(firstOf([pays('cpm', 13), pays('cps', 10)], [rates, rates], 90_000_000)).toBe(2); // 0.013 and 0.018
    expect(firstOf([pays('cpm', 13), pays('cps', 10)], [rates, rates], 50_000_000)).toBe(1);
  });

  test('depends little on the first impressions of an offer', () => {
    const offers = offersOf(campaignOf(1, { payout: pays('cpc', 1) }), campaignOf(2, { payout: pays('cpc', 1) }));
    const share = (own: Counts): number =>
      countFirsts(
        offers,
        modelOf(
          offers,
          new Map([
            [1, counts(10_000, 200)],
            [2, own],
          ]),
        ),
      ).get(2) ?? 0;
    expect(share(counts(20, 0))).toBeGreaterThan(share(counts(0, 0)) / 2);
    expect(share(counts(2000, 0))).toBeLessThan(0.02);
  });
});

test('one decision in a hundred puts an offer first that would rarely be first', () => {
  const offers = offersOf(...Array.from({ length: 10 }, (_, at) => campaignOf(at + 1, { payout: pays('cpc', 1) })));
  const countsByOffer = new Map(offers.map(({ id }) => [id, counts(1_000_000, id === 1 ? 100_000 : 1_000)]));
  const timesFirst = countFirsts(offers, modelOf(offers, countsByOffer), 40_000);
  expect(1 - (timesFirst.get(1) ?? 0)).toBeGreaterThan(0.006);
  expect(1 - (timesFirst.get(1) ?? 0)).toBeLessThan(0.012);
  expect(timesFirst.size).toBe(10);
});

test('scores have the mean and half the variance of the posterior', () => {
  for (const clicks of [30, 100, 250]) {
    const offers = offersOf(campaignOf(1, { payout: pays('cpc', 1) }));
    const publisher = publisherWith(offers);
    const model = modelOf(offers, new Map([[1, counts(100_000, clicks)]]));
    const rates = Array.from({ length: 20_000 }, (_, at) => {
      const [offer] = decide(inputOf(publisher, { model, seed: mix(11, at) })).offers;
      return (offer?.score ?? 0) / 1_000_000;
    });
    const mean = rates.reduce((all, rate) => all + rate, 0) / rates.length;
    const deviation = Math.sqrt(rates.reduce((all, rate) => all + (rate - mean) ** 2, 0) / rates.length);
    expect(Math.abs(mean / (clicks / 100_000) - 1)).toBeLessThan(0.2);
    expect(Math.abs((deviation / mean) * Math.sqrt(2 * clicks) - 1)).toBeLessThan(0.1);
  }
});

test('the regret of learning is at most half that of exploring a fixed share of impressions', () => {
  const rounds = 30_000;
  const arms = 10;
  const rates = Array.from({ length: arms }, (_, at) => 0.005 + 0.095 * uniform(123, at));
  const best = Math.max(...rates);
  const offers = offersOf(...rates.map((_, at) => campaignOf(at + 1, { payout: pays('cpc', 1) })));
  const publisher = publisherWith(offers);

  /** Returns the regret of a ranking that learns from clicks immediately. */
  function regretOf(
    world: number,
    choose: (round: number) => number,
    learn: (arm: number, isClick: boolean, round: number) => void,
  ): number {
    let regret = 0;
    for (let round = 0; round < rounds; round++) {
      const arm = choose(round);
      const rate = rates[arm] as number;
      regret += best - rate;
      learn(arm, uniform(world, round) < rate, round);
    }
    return regret;
  }

  let thompson = 0;
  let greedy = 0;
  for (let world = 1; world <= 3; world++) {
    const learner = simulateLearner(world);
    let model = { ...learner.model };
    thompson += regretOf(
      world,
      (round) => {
        if (round % (round < 4000 ? 200 : 1000) === 0) {
          learner.learn(startMs + 10 * round);
          model = { ...learner.model };
        }
        const [first] = decide(inputOf(publisher, { model, seed: mix(world, round), context: { count: 1 } })).offers;
        return (first?.offer.id as number) - 1;
      },
      (arm, isClick, round) => {
        const offer = offers[arm] as Offer;
        learner.show({ offer, atMs: startMs + 10 * round, rate: isClick ? 1 : 0, delayMs: 0 });
      },
    );
    const observed = rates.map(() => ({ impressions: 0, clicks: 0 }));
    const rateOf = ({ impressions, clicks }: Pick<Counts, 'impressions' | 'clicks'>): number =>
      impressions === 0 ? 1 : clicks / impressions;
    greedy += regretOf(
      world,
      (round) => {
        if (uniform(world + 50, round) < 0.1) return Math.floor(uniform(world + 90, round) * arms);
        return observed.indexOf(observed.reduce((a, b) => (rateOf(b) > rateOf(a) ? b : a)));
      },
      (arm, isClick) => {
        const own = observed[arm] as { impressions: number; clicks: number };
        own.impressions += 1;
        if (isClick) own.clicks += 1;
      },
    );
  }
  expect(thompson).toBeLessThan(greedy / 2);
});
