import { expect, test } from 'vitest';
import { probabilitiesToBeBest } from '../../../src/experiments/statistics/checks.ts';
import { noMoments } from '../../../src/experiments/statistics/moments.ts';

test.each([2, 3, 5])('%i arms without data are equally likely to be the best', (count) => {
  for (const probability of probabilitiesToBeBest(Array.from({ length: count }, () => noMoments)))
    expect(probability).toBeCloseTo(1 / count, 2);
});
