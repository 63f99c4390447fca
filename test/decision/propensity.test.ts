import { expect, test } from 'vitest';
import { decide } from '../../src/decision/decide.ts';
import { estimatePropensities, type Propensity } from '../../src/decision/propensity.ts';
import { mix } from '../../src/decision/random.ts';
import type { DecidedOffer, DecisionInput } from '../../src/decision/types.ts';
import { campaignOf, counts, inputOf, modelOf, offersOf, pays, publisherWith } from './support.ts';

const offers = offersOf(...Array.from({ length: 12 }, (_, at) => campaignOf(at + 1, { payout: pays('cpc', 1) })));
const countsByOffer = new Map(offers.map(({ id }) => [id, counts(4000, 60 + 3 * id)]));
const input = inputOf(publisherWith(offers), {
  model: modelOf(offers, countsByOffer),
  context: { count: 3 },
});

function estimate(
  of: DecisionInput,
  arrange?: (decidedOffers: readonly DecidedOffer[]) => readonly DecidedOffer[],
): Propensity {
  const work = estimatePropensities(of, arrange);
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

test('the propensity of an offer is close to the share of seeds that show it at its position', () => {
  const runs = 4000;
  const timesShown = new Map<string, number>();
  for (let run = 0; run < runs; run++)
    for (const { offer, position } of decide({ ...input, seed: mix(5, run) }).offers) {
      const key = `${offer.id} ${position}`;
      timesShown.set(key, (timesShown.get(key) ?? 0) + 1 / runs);
    }
  const propensityOf = estimate(input);
  for (const { id } of offers)
    for (const position of [1, 2, 3])
      expect(Math.abs(propensityOf(id, position) - (timesShown.get(`${id} ${position}`) ?? 0))).toBeLessThan(0.08);
});

test('the propensity is the same each time, never 0, and 1 if nothing is random', () => {
  const [once, again] = [estimate(input), estimate({ ...input, seed: 99 })];
  for (const { id } of offers) {
    expect(again(id, 1)).toBe(once(id, 1));
    expect(once(id, 1)).toBeGreaterThan(0);
  }
  const unpaid = inputOf(publisherWith(offersOf(campaignOf(1), campaignOf(2))));
  expect(estimate(unpaid)(1, 1)).toBe(1);
});

test('the propensity counts positions after the offers are rearranged', () => {
  const reversed = estimate(inputOf(publisherWith(offersOf(campaignOf(1), campaignOf(2)))), (decided) =>
    [...decided].reverse(),
  );
  expect([reversed(2, 1), reversed(1, 2)]).toEqual([1, 1]);
});
