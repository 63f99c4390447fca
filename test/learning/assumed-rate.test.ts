import { expect, test } from 'vitest';
import { normalQuantile, uniform } from '../../src/decision/random.ts';
import { beliefOf, peersBelief, withBelief } from '../../src/learning/assumed-rate.ts';
import { createModel, type RateModel } from '../../src/learning/model.ts';

const offerIds = Array.from({ length: 60 }, (_, at) => at + 1);
const normal = (salt: number, at: number): number => normalQuantile(uniform(salt, at) + 2 ** -33);

/** Click rates whose logits have this mean and spread. Only offers with a good start were shown often. */
function learned(mean: number, spread: number): RateModel {
  let model = createModel();
  const general = beliefOf(model.click, 0);
  for (const id of offerIds) {
    const logit = mean + spread * normal(1, id);
    const first = logit + Math.sqrt(0.1) * normal(2, id);
    const [observed, ownVariance] = first > mean ? [logit + Math.sqrt(0.003) * normal(3, id), 0.003] : [first, 0.1];
    const precision = 1 / ownVariance + 1 / general.variance;
    const belief = {
      mean: (observed / ownVariance + general.mean / general.variance) / precision,
      variance: 1 / precision,
    };
    model = withBelief(model, [id], { click: belief, conversion: belief });
  }
  return model.click;
}

test.each([
  { mean: -3, spread: 0.5 },
  { mean: -2, spread: 0.2 },
])('a new offer is expected to be like all others, not like those shown most: $mean ± $spread', ({ mean, spread }) => {
  const belief = peersBelief(learned(mean, spread), offerIds);
  expect(Math.abs(belief.mean - mean)).toBeLessThan(0.3 * spread);
  expect(Math.sqrt(belief.variance)).toBeGreaterThan(0.75 * spread);
  expect(Math.sqrt(belief.variance)).toBeLessThan(1.3 * spread);
});

test('without other offers, the rate of a new offer is uncertain', () => {
  const { click } = createModel();
  const belief = peersBelief(click, []);
  expect(belief.mean).toBeCloseTo(beliefOf(click, 0).mean);
  expect(belief.variance).toBeGreaterThan(0.3);
});
