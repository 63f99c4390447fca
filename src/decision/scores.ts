import type { Payout } from '../catalog/types.ts';
import { type Belief, type Beta, beliefOf } from './beliefs.ts';
import type { Candidate } from './compile.ts';
import type { EligibilityIndex } from './eligibility.ts';
import { firstNormal, mix, salts, secondNormal } from './random.ts';
import type { Posteriors } from './types.ts';

/** What one impression of a candidate is expected to earn at a placement, in millionths of the currency. */
export type Estimate = {
  mean: number;
  /** Standard deviation of what is believed of the mean. */
  spread: number;
  /** Revenue of an impression in which everything chance decides happens. */
  value: number;
  /** null: it does not depend on clicks, or not on conversions. */
  click: BetaDraw | null;
  conversion: BetaDraw | null;
};

/** Average sale where none is known yet, in millionths. */
const usualSaleMicros = 50_000_000;

/** Placements whose estimates are kept at once, for one index and one state of the posteriors. */
const maxPlacements = 16;

const kept = new WeakMap<Posteriors, WeakMap<EligibilityIndex, Map<string, (Estimate | undefined)[]>>>();

/** The estimates of a placement, made when first asked for and kept as long as the posteriors. */
export function estimatesOf(
  index: EligibilityIndex,
  publisherId: number,
  placement: string,
  posteriors: Posteriors,
): (candidate: Candidate) => Estimate {
  const byIndex = keptIn(kept, posteriors, () => new WeakMap<EligibilityIndex, Map<string, (Estimate | undefined)[]>>());
  const byPlacement = keptIn(byIndex, index, () => new Map<string, (Estimate | undefined)[]>());
  if (byPlacement.size >= maxPlacements && !byPlacement.has(placement)) byPlacement.clear();
  const estimates = keptIn(byPlacement, placement, () => new Array<Estimate | undefined>(index.candidates.length).fill(undefined));
  return (candidate) => {
    let estimate = estimates[candidate.index];
    if (estimate === undefined) {
      estimate = makeEstimate(candidate, publisherId, placement, posteriors);
      estimates[candidate.index] = estimate;
    }
    return estimate;
  };
}

function keptIn<K, V>(map: { get: (key: K) => V | undefined; set: (key: K, value: V) => unknown }, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

function makeEstimate(candidate: Candidate, publisherId: number, placement: string, posteriors: Posteriors): Estimate {
  const { payout, offer } = candidate;
  const value = valueOfPayout(payout, posteriors.averageSaleMicros.get(offer.campaign.id) ?? usualSaleMicros);
  if (payout.kind === 'cpm' || value === 0) return { mean: value, spread: 0, value, click: null, conversion: null };
  const belief = beliefOf(candidate, publisherId, placement, posteriors);
  const converts = payout.kind !== 'cpc';
  return {
    value,
    ...momentsOf(value, belief, converts),
    click: betaDraw(belief.click),
    conversion: converts ? betaDraw(belief.conversion) : null,
  };
}

function valueOfPayout({ kind, amountMicros }: Payout, averageSaleMicros: number): number {
  if (kind === 'cpm') return amountMicros / 1000;
  return kind === 'cps' ? (amountMicros / 100_000_000) * averageSaleMicros : amountMicros;
}

function momentsOf(value: number, { click, conversion }: Belief, converts: boolean): { mean: number; spread: number } {
  const parts = converts ? [click, conversion] : [click];
  let [mean, relative] = [value, 0];
  for (const { a, b } of parts) {
    mean *= a / (a + b);
    relative += b / (a * (a + b + 1)); // squared standard deviation by the squared mean
  }
  return { mean, spread: mean * Math.sqrt(relative) };
}

/**
 * A draw of a Beta distribution is a share of two Gamma draws, and a Gamma draw is nearly the cube of a normal one
 * (Wilson and Hilferty): two looks at a table, no loop.
 */
type BetaDraw = { aBase: number; aStep: number; bBase: number; bStep: number };

export function betaDraw({ a, b }: Beta): BetaDraw {
  return {
    aBase: Math.cbrt(a) * (1 - 1 / (9 * a)),
    aStep: Math.cbrt(a) / (3 * Math.sqrt(a)),
    bBase: Math.cbrt(b) * (1 - 1 / (9 * b)),
    bStep: Math.cbrt(b) / (3 * Math.sqrt(b)),
  };
}

export function drawBeta({ aBase, aStep, bBase, bStep }: BetaDraw, bits: number): number {
  const a = Math.max(1e-9, aBase + aStep * firstNormal(bits));
  const b = Math.max(1e-9, bBase + bStep * secondNormal(bits));
  const hits = a * a * a;
  return hits / (hits + b * b * b);
}

/** Expected revenue of one impression as drawn for a seed (Thompson sampling), in millionths. */
export function drawScore({ value, click, conversion }: Estimate, offerId: number, seed: number): number {
  if (click === null) return value;
  const clicked = value * drawBeta(click, mix(seed, salts.click + offerId));
  return conversion === null ? clicked : clicked * drawBeta(conversion, mix(seed, salts.conversion + offerId));
}
