import { mix, normalQuantile, uniform as uniformNumber } from '../../src/decision/random.ts';
import { type Policy, topOf } from './policies.ts';
import type { Asker, World } from './world.ts';

type Counts = { impressions: number; clicks: number; conversions: number };

/** Returns the expected revenue of an impression, computed from click and conversion rate. */
function revenueOf(world: World, offer: number, click: number, conversion: number): number {
  const payout = world.offers[offer]?.campaign.payout;
  const amount = (payout?.amountMicros ?? 0) / 1_000_000;
  if (payout?.kind === 'cpm') return amount / 1000;
  return payout?.kind === 'cpc' ? click * amount : click * conversion * amount;
}

function counting(world: World): { counts: Counts[]; learn: Policy['learn'] } {
  const counts = world.offers.map(() => ({ impressions: 0, clicks: 0, conversions: 0 }));
  return {
    counts,
    learn: (notices) => {
      for (const { what, view } of notices) {
        const own = counts[view.offer] as Counts;
        if (what === 'seen') own.impressions += 1;
        if (what === 'clicked') own.clicks += 1;
        if (what === 'converted') own.conversions += 1;
      }
    },
  };
}

/** Ranking by the best average so far, with 10% random responses. */
export function greedy(world: World, seed: number): Policy {
  const { counts, learn } = counting(world);
  return {
    learn,
    choose: (_asker, isPresent, at) => {
      const random = uniformNumber(seed, at) < 0.1;
      const values = counts.map(({ impressions, clicks, conversions }, offer) =>
        random
          ? mix(seed + offer, at)
          : revenueOf(world, offer, (clicks + 1) / (impressions + 50), (conversions + 1) / (clicks + 20)),
      );
      return topOf(values, isPresent, world.positions);
    },
  };
}

/**
 * Thompson sampling without context, as in an earlier ranking:
 * - Beta posteriors per offer, shrunk towards the other offers of its category, counted twice
 * - 100 warm-up impressions
 * - 1% random responses
 * - no position effects
 */
export function withoutContext(world: World, seed: number): Policy {
  const { counts, learn } = counting(world);
  const categories = [...new Set(world.offers.map(({ campaign }) => campaign.category))];
  const categoryOf = world.offers.map(({ campaign }) => categories.indexOf(campaign.category));
  let sums: Counts[] = [];
  const refresh = (): void => {
    sums = categories.map(() => ({ impressions: 0, clicks: 0, conversions: 0 }));
    for (const [offer, own] of counts.entries()) {
      const sum = sums[categoryOf[offer] as number] as Counts;
      sum.impressions += own.impressions;
      sum.clicks += own.clicks;
      sum.conversions += own.conversions;
    }
  };
  refresh();
  const draw = (rate: number, trials: number, prior: number, successes: number, z: number): number => {
    const [a, b] = [successes + prior * rate, trials - successes + prior * (1 - rate)];
    const mean = a / (a + b);
    const relative = b / (a * (2 * (a + b) + 1));
    return mean * Math.max(0, 1 - relative / 9 + Math.sqrt(relative / 9) * z) ** 3;
  };
  return {
    learn: (notices, nowMs) => {
      learn(notices, nowMs);
      refresh();
    },
    choose: (_asker, isPresent, at) => {
      const explores = uniformNumber(seed, at) < 0.01;
      const values = counts.map((own, offer) => {
        const salt = 2 * offer;
        if (explores) return mix(seed + offer, at);
        const others = sums[categoryOf[offer] as number] as Counts;
        const isWarm = own.impressions >= 100;
        const [n, c, v] = [
          others.impressions - own.impressions,
          others.clicks - own.clicks,
          others.conversions - own.conversions,
        ];
        const z = (k: number): number => normalQuantile((mix(mix(seed, at), salt + k) + 0.5) / 2 ** 32);
        const click = draw((c + 2) / (n + 100), isWarm ? own.impressions : 0, 20, isWarm ? own.clicks : 0, z(0));
        const conversion = draw((v + 5) / (c + 100), isWarm ? own.clicks : 0, 20, isWarm ? own.conversions : 0, z(1));
        return revenueOf(world, offer, click, conversion);
      });
      return topOf(values, isPresent, world.positions);
    },
  };
}

/**
 * A logistic Thompson sampler per offer, with all attributes and the full covariance (one Newton step per outcome). It
 * learns each outcome at the time when a click would have come, even if there was none. Supports clicks only.
 */
export function logisticPerOffer(world: World, seed: number): Policy {
  const columns = new Map<string, number>([['', 0]]);
  const inputsOf = (asker: Asker): number[] => {
    const texts = [
      ...asker.custom,
      ...['device', 'os', 'platform'].map((key) => [key, asker[key as 'device'] ?? null]),
    ];
    const columnsOfTexts = texts.flatMap(([key, value]) => {
      if (value === null) return [];
      const text = `${key}=${value}`;
      if (!columns.has(text)) columns.set(text, columns.size);
      return [columns.get(text) as number];
    });
    return [0, ...columnsOfTexts];
  };
  const size = sizeOf(world);
  const models = world.offers.map(() => {
    const covariance = new Float64Array(size * size);
    for (let at = 0; at < size; at++) covariance[at * size + at] = at === 0 ? 1 : 0.1;
    return { mean: new Float64Array(size).fill(0).fill(-3.9, 0, 1), covariance };
  });
  return {
    choose: (asker, isPresent, at) => {
      const active = inputsOf(asker);
      const answer = mix(seed, at);
      const values = models.map(({ mean, covariance }, offer) => {
        let [sum, variance] = [0, 0];
        for (const i of active) {
          sum += mean[i] as number;
          for (const j of active) variance += covariance[i * size + j] as number;
        }
        const z = normalQuantile((mix(answer, offer) + 0.5) / 2 ** 32);
        return revenueOf(world, offer, 1 / (1 + Math.exp(-(sum + Math.sqrt(variance) * z))), 1);
      });
      return topOf(values, isPresent, world.positions);
    },
    learn: (notices) => {
      for (const notice of notices) {
        if (notice.what !== 'outcome') continue;
        const { mean, covariance } = models[notice.view.offer] as (typeof models)[number];
        const active = inputsOf(notice.view.asker);
        const gain = new Float64Array(size);
        for (let i = 0; i < size; i++) {
          let sum = 0;
          for (const j of active) sum += covariance[i * size + j] as number;
          gain[i] = sum;
        }
        let [x, variance] = [0, 0];
        for (const i of active) {
          x += mean[i] as number;
          variance += gain[i] as number;
        }
        const p = 1 / (1 + Math.exp(-x));
        const weight = p * (1 - p);
        const scale = 1 / (1 + weight * variance);
        for (let i = 0; i < size; i++) {
          const own = gain[i] as number;
          mean[i] = (mean[i] as number) + own * ((notice.isClick ? 1 : 0) - p) * scale;
          for (let j = 0; j < size; j++)
            covariance[i * size + j] =
              (covariance[i * size + j] as number) - own * (gain[j] as number) * weight * scale;
        }
      }
    },
  };
}

/** Number of columns that encode a world's attributes. */
function sizeOf(world: World): number {
  const texts = new Set<string>();
  for (let at = 0; at < world.answers; at++) {
    const { custom, device, os, platform } = world.asker(at);
    for (const [key, value] of [...custom, ['device', device], ['os', os], ['platform', platform]])
      if (value != null) texts.add(`${key}=${value}`);
  }
  return texts.size + 1;
}
