import { campaignOutcomes } from '../../decision/campaign-outcomes.ts';
import type { DecisionInput } from '../../decision/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';

/**
 * Counts decision outcomes by campaign, so that the campaign page can explain why a campaign was not delivered.
 * Explaining a decision costs more than making it. Therefore, only a sample is explained, after the response was sent.
 * Each sample represents all of the publisher's decisions since the previous sample.
 */
export type OutcomeSampler = {
  /** Must be called for every committed decision. */
  decided: (input: DecisionInput) => void;
  /** Writes the collected counts to the database. If this fails, they are lost. */
  write: (executor: Executor) => Promise<void>;
};

/**
 * Number of a publisher's decisions in which a campaign had a given outcome: `shown`, or the first rule that failed.
 */
type CampaignOutcome = { publisherId: number; campaignId: number; outcome: string; decisions: number };

/**
 * Maximum fraction of time spent on explaining decisions. The longer a sample takes, the longer the pause before the
 * next one.
 */
const timeShare = 0.002;

/** Maximum number of distinct outcomes collected between two writes. */
const maxCounted = 200_000;

/** Retention of outcomes, in milliseconds. */
export const outcomesKeptMs = 7 * dayMs;

/** Clock functions. `durationMs` is monotonic. */
type Clock = { now: () => number; durationMs?: () => number };

export function createOutcomeSampler({ now, durationMs = () => performance.now() }: Clock): OutcomeSampler {
  const unexplained = new Map<number, number>();
  let counted = new Map<string, CampaignOutcome>();
  let dueAtMs = 0;
  let isBusy = false;

  function explainOne(input: DecisionInput, decisions: number): void {
    const startMs = durationMs();
    const publisherId = input.publisher.id;
    for (const [campaignId, outcome] of campaignOutcomes(input)) {
      const key = `${publisherId} ${campaignId} ${outcome}`;
      if (counted.size >= maxCounted && !counted.has(key)) continue;
      getOrInsert(counted, key, () => ({ publisherId, campaignId, outcome, decisions: 0 })).decisions += decisions;
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
      const outcomes = [...counted.values()];
      counted = new Map();
      if (outcomes.length > 0) await writeOutcomes(executor, outcomes, now());
    },
  };
}

/** Adds outcomes to the counts of the current hour. The list must contain no duplicates. */
export async function writeOutcomes(
  executor: Executor,
  outcomes: readonly CampaignOutcome[],
  nowMs: number,
): Promise<void> {
  // Rows are sorted by key, so that two processes writing the same rows lock them in the same order.
  await executor.query(
    `insert into campaign_outcomes as stored (publisher_id, campaign_id, outcome, decisions, hour)
    select given.*, date_trunc('hour', $2::timestamptz) from json_to_recordset($1::json) as given
      ("publisherId" integer, "campaignId" integer, outcome text, decisions bigint)
    order by 1, 2, 3
    on conflict (publisher_id, campaign_id, hour, outcome)
      do update set decisions = stored.decisions + excluded.decisions`,
    [JSON.stringify(outcomes), new Date(nowMs)],
  );
}

/**
 * Returns a campaign's outcomes for a publisher since a given time, which is rounded to the hour. The most frequent
 * outcome comes first.
 */
export async function findOutcomes(
  executor: Executor,
  { publisherId, campaignId, sinceMs }: { publisherId: number; campaignId: number; sinceMs: number },
): Promise<{ outcome: string; decisions: number }[]> {
  const { rows } = await executor.query<{ outcome: string; decisions: number }>(
    `select outcome, sum(decisions)::float8 as decisions from campaign_outcomes
    where publisher_id = $1 and campaign_id = $2 and hour > $3
    group by outcome order by decisions desc, outcome`,
    [publisherId, campaignId, new Date(sinceMs - hourMs)],
  );
  return rows;
}

/** Deletes expired outcomes. */
export async function deleteOldOutcomes(executor: Executor, nowMs: number): Promise<void> {
  await executor.query('delete from campaign_outcomes where hour < $1', [new Date(nowMs - outcomesKeptMs - hourMs)]);
}
