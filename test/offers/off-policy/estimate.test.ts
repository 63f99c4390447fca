import { expect, test } from 'vitest';
import { uniform } from '../../../src/decision/random.ts';
import { estimateOther, intervalOf, type Observed } from '../../../src/offers/off-policy/estimate.ts';

/** Two offers: the first is shown to 80 %, and pays 1 in 10 times; the second, which the other ranks first, 1 in 5. */
function sessionsOf(seed: number, count: number, { firstShare = 0.8, weight = 1 } = {}): Observed[] {
  return Array.from({ length: count }, (_, at) => {
    const isFirst = uniform(seed, 2 * at) < firstShare;
    const isPaid = uniform(seed, 2 * at + 1) < (isFirst ? 0.1 : 0.2);
    const ratio = isFirst ? 0 : 1 / (1 - firstShare);
    return { weight, shown: [{ ratio, revenueMicros: isPaid ? 1e6 : 0 }], filled: [1] };
  });
}

const truth = 0.2 / 0.12 - 1;

test('the earnings of another ranking are within the interval in about 95 of 100 cases', () => {
  const runs = 200;
  const within = Array.from({ length: runs }, (_, seed) => {
    const { low, high } = intervalOf(estimateOther(sessionsOf(seed + 1, 3000)));
    return low <= truth && truth <= high;
  });
  const share = within.filter(Boolean).length / runs;
  expect(share).toBeGreaterThan(0.9);
  expect(share).toBeLessThan(0.99);
});

test('the actual ranking earns what it has earned, with an interval of zero width', () => {
  const same = sessionsOf(1, 500).map((session) => ({
    ...session,
    shown: session.shown.map((of) => ({ ...of, ratio: 1 })),
  }));
  expect(estimateOther(same)).toMatchObject({ lift: 0, effectiveSessions: 500, coverage: 1, isEnough: true });
  expect(estimateOther(same).error).toBeCloseTo(0, 12);
});

test('sessions that represent several count as many times, with the uncertainty of one', () => {
  const once = estimateOther(sessionsOf(1, 3000));
  const thrice = estimateOther(sessionsOf(1, 3000, { weight: 3 }));
  expect(thrice.lift).toBeCloseTo(once.lift, 12);
  expect(thrice.error).toBeCloseTo(once.error, 12);
});

test('there is no claim without enough sessions or revenue, or for offers that were hardly ever shown', () => {
  expect(estimateOther([])).toMatchObject({ sessions: 0, lift: 0, error: 0, isEnough: false });
  const unpaid = { weight: 1, shown: [{ ratio: 1, revenueMicros: 0 }], filled: [1] };
  expect(estimateOther(Array(1000).fill(unpaid))).toMatchObject({ lift: 0, isEnough: false });
  expect(estimateOther(sessionsOf(1, 3000)).isEnough).toBe(false);
  expect(estimateOther(sessionsOf(1, 100_000, { firstShare: 0.5 })).isEnough).toBe(true);
  const uncovered = sessionsOf(1, 100_000, { firstShare: 0.5 }).map((session) => ({ ...session, filled: [1, 0.5] }));
  expect(estimateOther(uncovered)).toMatchObject({ isEnough: false });
});
