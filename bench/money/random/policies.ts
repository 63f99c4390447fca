import { mix, normalQuantile } from '../../../src/decision/random.ts';
import { type Policy, topOf } from '../policies.ts';
import type { World } from '../world.ts';

/**
 * Thompson sampling per offer, with Beta posteriors of clicks per impression and conversions per click. The prior is
 * one success at the pooled rate of all offers.
 */
export function plainThompson(world: World, seed: number): Policy {
  const counts = world.offers.map(() => ({ seen: 0, clicked: 0, converted: 0 }));
  let draws = seed * 1_000_003;
  const gamma = (shape: number): number => {
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = normalQuantile((mix(seed, draws++) + 0.5) / 2 ** 32);
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log((mix(seed + 1, draws++) + 0.5) / 2 ** 32) < 0.5 * x * x + d - d * v + d * Math.log(v))
        return d * v;
    }
  };
  const uniformOf = (): number => (mix(seed + 2, draws++) + 0.5) / 2 ** 32;
  const beta = (a: number, b: number): number => {
    const x = gamma(a);
    return x / (x + (b < 1 ? gamma(b + 1) * uniformOf() ** (1 / b) : gamma(b)));
  };
  const all = { seen: 0, clicked: 0, converted: 0 };
  return {
    choose: (_asker, isPresent) => {
      const others = {
        click: (all.seen + 50) / (all.clicked + 1) - 1,
        conversion: (all.clicked + 20) / (all.converted + 1) - 1,
      };
      const values = world.offers.map(({ campaign: { payout } }, offer) => {
        const { seen: impressions, clicked, converted } = counts[offer] as (typeof counts)[number];
        if (payout.kind === 'cpm') return payout.amountMicros / 1000;
        const click =
          payout.amountMicros * beta(1 + clicked, Math.max(0.1, others.click) + Math.max(0, impressions - clicked));
        if (payout.kind === 'cpc') return click;
        return click * beta(1 + converted, Math.max(0.1, others.conversion) + Math.max(0, clicked - converted));
      });
      return topOf(values, isPresent, world.positions);
    },
    learn: (notices) => {
      for (const { what, view } of notices)
        if (what !== 'outcome') {
          const own = counts[view.offer] as (typeof counts)[number];
          own[what] += 1;
          all[what] += 1;
        }
    },
  };
}
