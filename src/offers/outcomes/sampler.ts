import { campaignOutcomes } from '../../decision/campaign-outcomes.ts';
import type { DecisionInput } from '../../decision/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { writeOutcomes } from './store.ts';

/**
 * Counts what decisions made of each campaign, so that its page can say why it was not delivered. Explaining a decision
 * costs more than making it, so a sample is explained, after its answer, and stands for the decisions of its publisher
 * since the one before it.
 */
export type OutcomeSampler = {
  /** To be called for every decision that was committed. */
  decided: (input: DecisionInput) => void;
  /** Writes what was counted. What cannot be written is lost. */
  write: (executor: Executor) => Promise<void>;
};

/** Time spent on explaining, as a share of all time: a sample waits until the last one has paid. */
const timeShare = 0.002;

/** Outcomes counted between two writes (count). */
const maxCounted = 200_000;

type Clock = { now: () => number; durationMs: () => number };

/** `durationMs`: a clock that only moves forward. */
export function createOutcomeSampler({ now, durationMs }: Clock): OutcomeSampler {
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
