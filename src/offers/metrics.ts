import { Histogram, type Registry } from 'prom-client';
import { campaignOutcomes } from '../decision/campaign-outcomes.ts';
import type { DecisionInput, EmptyReason } from '../decision/types.ts';
import type { Executor } from '../platform/db/pool.ts';
import { registerCounts } from '../platform/metrics/metrics.ts';
import { writeOutcomes } from './outcomes/store.ts';

type Surface = 'unit' | 'offerwall';

/** Measures fetches, without those of developers, as in reports. */
export type FetchMeter = {
  decided: (ms: number) => void;
  /**
   * Counts a response.
   * @param emptyReason reason why it shows nothing, or null
   */
  answered: (surface: Surface, emptyReason: string | null, offers: number) => void;
};

const decisionBucketsS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05];

/** All reasons for an empty response: those of a decision, a hold-out, and the deadline of the request. */
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

/**
 * Counts the outcomes of decisions for each campaign, so that its page can explain why it was not delivered. Explaining
 * a decision costs more than making it, so only a sample is explained, after its response. It stands for all decisions
 * of its publisher since the previous one.
 */
export type OutcomeSampler = {
  /** Must be called for every committed decision. */
  decided: (input: DecisionInput) => void;
  /** Writes the counts. If that fails, they are lost. */
  write: (executor: Executor) => Promise<void>;
};

/** Maximum share of the time spent on explaining. The next sample waits until the last one is amortised. */
const timeShare = 0.002;

/** Maximum number of outcomes counted between two writes. */
const maxCounted = 200_000;

/** Clocks; `durationMs` is monotonic. */
type Clock = { now: () => number; durationMs?: () => number };

export function createOutcomeSampler({ now, durationMs = () => performance.now() }: Clock): OutcomeSampler {
  const unexplained = new Map<number, number>();
  let counted = new Map<string, number>();
  let dueAtMs = 0;
  let isBusy = false;

  function explainOne(input: DecisionInput, decisions: number): void {
    const startMs = durationMs();
    for (const [campaignId, outcome] of campaignOutcomes(input)) {
      const key = `${input.publisher.id} ${campaignId} ${outcome}`;
      if (counted.size < maxCounted || counted.has(key)) counted.set(key, (counted.get(key) ?? 0) + decisions);
    }
    const endMs = durationMs();
    dueAtMs = endMs + (endMs - startMs) / timeShare;
    isBusy = false;
  }

  return {
    decided: (input) => {
      const publisherId = input.publisher.id;
      const decisions = (unexplained.get(publisherId) ?? 0) + 1;
      unexplained.set(publisherId, decisions);
      if (isBusy || durationMs() < dueAtMs) return;
      unexplained.delete(publisherId);
      isBusy = true;
      setImmediate(explainOne, input, decisions);
    },
    write: async (executor) => {
      if (counted.size === 0) return;
      const outcomes = [...counted].map(([key, decisions]) => {
        const [publisherId, campaignId, outcome] = key.split(' ') as [string, string, string];
        return { publisherId: Number(publisherId), campaignId: Number(campaignId), outcome, decisions };
      });
      counted = new Map();
      await writeOutcomes(executor, outcomes, now());
    },
  };
}
