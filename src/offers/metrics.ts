import { Histogram, type Registry } from 'prom-client';
import type { EmptyReason } from '../decision/types.ts';
import { registerCounts } from '../platform/metrics/counts.ts';

type Surface = 'unit' | 'offerwall';

/** Measures fetches; those of developers are left out, as in reports. */
export type FetchMeter = {
  decided: (ms: number) => void;
  /** @param emptyReason why it shows nothing; null: it shows offers */
  answered: (surface: Surface, emptyReason: string | null, offers: number) => void;
};

const decisionBucketsS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05];

/** Every reason for an empty answer: those of a decision, and the deadline of the request. */
const emptyReasons: Record<EmptyReason | 'deadline', true> = {
  unit_off: true,
  percentage: true,
  no_campaigns: true,
  nothing_eligible: true,
  sequence_rules: true,
  deadline: true,
};

export function createFetchMeter(registry: Registry): FetchMeter {
  const decisions = new Histogram({
    name: 'perkwire_decision_duration_seconds',
    help: 'Time that a decision takes, without input and output.',
    buckets: decisionBucketsS,
    registers: [registry],
  });
  const fetches = registerCounts(registry, {
    name: 'perkwire_fetches_total',
    help: 'Fetches answered, by surface and result: filled, or why it is empty.',
    labelNames: ['surface', 'result'],
  });
  const shown = registerCounts(registry, {
    name: 'perkwire_offers_served_total',
    help: 'Offers in the answers of fetches.',
    labelNames: ['surface'],
  });
  const bySurface = (surface: Surface) => ({
    offers: shown(surface),
    results: new Map(['filled', ...Object.keys(emptyReasons)].map((result) => [result, fetches(surface, result)])),
  });
  const counts = { unit: bySurface('unit'), offerwall: bySurface('offerwall') };
  return {
    decided: (ms) => decisions.observe(ms / 1000),
    answered: (surface, emptyReason, offers) => {
      const { results, offers: total } = counts[surface];
      const result = results.get(emptyReason ?? 'filled');
      if (result !== undefined) result.value += 1;
      total.value += offers;
    },
  };
}
