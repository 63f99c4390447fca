import { Histogram, type Registry } from 'prom-client';
import type { EmptyReason } from '../decision/types.ts';
import { registerCounts } from '../platform/metrics/metrics.ts';

type Surface = 'unit' | 'offerwall';

/** Records metrics about fetches. Dev fetches are ignored, as in reports. */
export type FetchMeter = {
  decided: (ms: number) => void;
  /**
   * Records a response.
   * @param emptyReason reason why no offers were shown, or null
   */
  answered: (surface: Surface, emptyReason: string | null, offers: number) => void;
};

const decisionBucketsS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05];

/** All possible reasons for an empty response: those of a decision or a hold-out, and the request deadline. */
const emptyReasons: Record<EmptyReason | 'deadline', true> = {
  unit_off: true,
  percentage: true,
  no_campaigns: true,
  nothing_eligible: true,
  sequence_rules: true,
  deadline: true,
  held_out: true,
};

export function createFetchMeter(registry: Registry): FetchMeter {
  const decisions = new Histogram({
    name: 'perkwire_decision_duration_seconds',
    help: 'Duration of a decision in seconds, without I/O.',
    buckets: decisionBucketsS,
    registers: [registry],
  });
  const fetches = registerCounts(registry, {
    name: 'perkwire_fetches_total',
    help: 'Number of fetches, by surface and result (filled, or the reason for an empty response).',
    labelNames: ['surface', 'result'],
  });
  const servedOffers = registerCounts(registry, {
    name: 'perkwire_offers_served_total',
    help: 'Number of offers returned by fetches.',
    labelNames: ['surface'],
  });
  const bySurface = (surface: Surface) => ({
    offers: servedOffers(surface),
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
