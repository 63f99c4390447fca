import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Payout } from '../../../src/catalog/types.ts';
import { decide, indexOf } from '../../../src/decision/decide.ts';
import type { Bits, EligibilityIndex } from '../../../src/decision/eligibility.ts';
import { countBits, emptyBits, hasBit, nextBit, setBit } from '../../../src/decision/index/index-filters.ts';
import { mix, salts, uniform } from '../../../src/decision/random.ts';
import { bestDraws, createTop } from '../../../src/decision/rank/best-draws.ts';
import { drawMisses, layersFor } from '../../../src/decision/rank/layers.ts';
import {
  drawRevenue,
  ensureEstimated,
  revenueModelOf,
  revenueOrderOf,
} from '../../../src/decision/rank/revenue-model.ts';
import type { DecisionInput } from '../../../src/decision/types.ts';
import {
  type Counts,
  campaignOf,
  counts,
  inputOf,
  modelOf as learnedModel,
  offersOf,
  pays,
  publisherWith,
} from '../support.ts';

type Draw = { score: number; member: number };
const nothing: Draw = { score: Number.POSITIVE_INFINITY, member: -1 };

function modelOf(input: DecisionInput) {
  const index = indexOf(input.publisher);
  const [priorityClass] = index.classes;
  if (priorityClass === undefined) throw new Error('no offers');
  return { index, model: revenueModelOf(index, priorityClass, input) };
}

const eligibleIn = (index: EligibilityIndex, isEligible: (at: number) => boolean): Bits => {
  const bits = emptyBits(index.candidates.length);
  for (const { index: at } of index.candidates) if (isEligible(at)) setBit(bits, at);
  return bits;
};

/** Reference implementation: draws for each eligible candidate, with a trial in each layer, then sorts. */
function allDraws(input: DecisionInput, bits: Bits): Draw[] {
  const { index, model } = modelOf(input);
  const members = index.candidates.map(({ index: at }) => at).filter((at) => hasBit(bits, at));
  const layers = layersFor(members.length);
  const drawn = new Map<number, number>();
  for (const member of members) ensureEstimated(model, member, input);
  if (layers.length === 0) for (const member of members) drawn.set(member, drawRevenue(model, member, input.seed));
  for (const layer of layers) {
    const seed = mix(mix(input.seed, salts.layers), layer.depth);
    let trial = 0;
    let misses = drawMisses(layer, seed, trial);
    for (const member of layer.depth === 0 ? members : revenueOrderOf(model, input).members) {
      if (misses > 0) {
        misses -= 1;
        continue;
      }
      trial += 1;
      misses = drawMisses(layer, seed, trial);
      if (hasBit(bits, member) && !drawn.has(member)) drawn.set(member, drawRevenue(model, member, input.seed, layer));
    }
  }
  expect(drawn.size).toBe(members.length);
  return [...drawn]
    .map(([member, score]) => ({ score, member }))
    .sort((a, b) => b.score - a.score || a.member - b.member);
}

/** Returns event counts for offers `1` to `size`. Depending on the seed, they are zero, small or large. */
function countsOf(size: number, seed: number): Map<number, Counts> {
  const scale = [0, 300, 100_000][seed % 3] as number;
  return new Map(
    Array.from({ length: size }, (_, at) => {
      const impressions = Math.floor(scale * uniform(seed, at));
      return [at + 1, counts(impressions, Math.floor(impressions * 0.1 * uniform(seed, -at)))];
    }),
  );
}

const payouts: Record<string, (at: number) => Payout> = {
  equal: () => pays('cpc', 1),
  'equal per impression': () => pays('cpm', 2),
  different: (at) => pays('cpc', 0.1 + uniform(5, at)),
  'a few far higher than the rest': (at) => pays('cpc', at % 97 === 0 ? 20 : 0.1),
  'of mixed kinds': (at) => [pays('cpc', 0.5), pays('cpa', 8), pays('cpm', 10), pays('cpc', 0)][at % 4] as Payout,
};

describe('the best draws of a class match drawing for all candidates and sorting', () => {
  test.each(Object.keys(payouts))('payouts: %s', (kind) => {
    const size = 1500;
    const offers = Array.from({ length: size }, (_, at) =>
      campaignOf(at + 1, { payout: payouts[kind]?.(at) as Payout }),
    );
    const publisher = publisherWith(offersOf(...offers));
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        fc.constantFrom(1, 0.9, 0.3, 0.18, 0.1, 0.01),
        fc.oneof({ arbitrary: fc.integer({ min: 1, max: 80 }), weight: 5 }, fc.constant(Number.POSITIVE_INFINITY)),
        fc.integer({ min: 0, max: 40 }),
        (seed, share, limit, skipped) => {
          const input = inputOf(publisher, { seed, model: learnedModel(offersOf(...offers), countsOf(size, seed)) });
          const { index, model } = modelOf(input);
          const bits = eligibleIn(index, (at) => uniform(seed, at) < share);
          const expected = allDraws(input, bits);
          const after = expected[skipped - 1] ?? nothing;
          const count = countBits(bits, 0, size);
          const { scores, members } = bestDraws({ model, bits, count, input }, createTop(limit, after));
          const from = after === nothing ? 0 : skipped;
          const draws = members.map((member, at) => ({ score: scores[at], member }));
          expect(draws).toEqual(expected.slice(from, from + limit));
        },
      ),
      { numRuns: 40 },
    );
  });
});

test('each of thousands of offers has the same independent draw distribution as on its own', () => {
  const size = 2000;
  const campaigns = Array.from({ length: size }, (_, at) => campaignOf(at + 1, { payout: pays('cpc', 1) }));
  const alone = publisherWith(offersOf(...campaigns.slice(0, 1)));
  const single = Array.from({ length: 100_000 }, (_, seed) => {
    return decide(inputOf(alone, { seed: mix(21, seed) })).offers[0]?.score as number;
  }).sort((a, b) => a - b);
  const valueAt = (share: number): number => single[Math.floor(share * single.length)] as number;

  const publisher = publisherWith(offersOf(...campaigns));
  const bits = eligibleIn(indexOf(publisher), () => true);
  const rounds = 300;
  const draws = Array.from({ length: rounds }, (_, seed) =>
    allDraws(inputOf(publisher, { seed: mix(22, seed) }), bits),
  );
  for (const share of [0.5, 0.9, 0.99, 0.999]) {
    const threshold = valueAt(share);
    const above = draws.map((round) => round.filter(({ score }) => score > threshold).length);
    const mean = above.reduce((a, b) => a + b, 0) / rounds;
    const variance = above.reduce((all, count) => all + (count - mean) ** 2, 0) / rounds;
    const expected = size * (1 - share);
    // `threshold` is an estimate itself, so the tolerance is 4 standard errors of both values.
    const tolerance = 4 * size * Math.sqrt((share * (1 - share)) / single.length) + 4 * Math.sqrt(expected / rounds);
    expect(Math.abs(mean - expected)).toBeLessThan(tolerance);
    // The variance is binomial, as for independent draws. The standard error of a variance over 300 rounds is 8%.
    expect(variance / (expected * share)).toBeGreaterThan(0.7);
    expect(variance / (expected * share)).toBeLessThan(1.35);
  }
  // Every offer has the same chance to be first.
  const firstHalf = draws.filter(([first]) => (first as Draw).member < size / 2).length;
  expect(Math.abs(firstHalf - rounds / 2)).toBeLessThan(4 * Math.sqrt(rounds / 4));
});

test('members of a set are found and counted between any two bits', () => {
  const members = fc.uniqueArray(fc.integer({ min: 0, max: 199 }));
  const range = fc.tuple(fc.integer({ min: 0, max: 199 }), fc.integer({ min: 0, max: 200 }));
  fc.assert(
    fc.property(members, range, fc.integer({ min: 0, max: 9 }), (list, [from, to], skipped) => {
      const bits = emptyBits(200);
      for (const member of list) setBit(bits, member);
      const inRange = list.filter((member) => member >= from && member < to).sort((a, b) => a - b);
      expect(countBits(bits, from, to)).toBe(inRange.length);
      expect(nextBit(bits, from, to, skipped)).toBe(inRange[skipped] ?? -1);
    }),
    { numRuns: 2000 },
  );
});
