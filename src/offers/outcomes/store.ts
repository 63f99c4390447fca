import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';

/** Number of a publisher's decisions in which a campaign had an outcome: `shown`, or the first rule that failed. */
export type CampaignOutcome = { publisherId: number; campaignId: number; outcome: string; decisions: number };

/** Retention of outcomes (milliseconds). */
export const outcomesKeptMs = 7 * dayMs;

/** Rows are sorted by key, so that two processes that write the same rows lock them in a consistent order. */
const addSql = `
insert into campaign_outcomes as known (publisher_id, campaign_id, hour, outcome, decisions)
select publisher_id, campaign_id, date_trunc('hour', $5::timestamptz), outcome, decisions
from unnest($1::integer[], $2::integer[], $3::text[], $4::bigint[])
  as given (publisher_id, campaign_id, outcome, decisions)
order by publisher_id, campaign_id, outcome
on conflict (publisher_id, campaign_id, hour, outcome) do update set decisions = known.decisions + excluded.decisions`;

/** Adds outcomes, without duplicates, to the counts of the current hour. */
export async function writeOutcomes(
  executor: Executor,
  outcomes: readonly CampaignOutcome[],
  nowMs: number,
): Promise<void> {
  await executor.query(addSql, [
    outcomes.map(({ publisherId }) => publisherId),
    outcomes.map(({ campaignId }) => campaignId),
    outcomes.map(({ outcome }) => outcome),
    outcomes.map(({ decisions }) => decisions),
    new Date(nowMs),
  ]);
}

/** Returns the outcomes of a campaign at a publisher since a time, to the hour, most frequent first. */
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

export async function deleteOldOutcomes(executor: Executor, nowMs: number): Promise<void> {
  await executor.query('delete from campaign_outcomes where hour < $1', [new Date(nowMs - outcomesKeptMs - hourMs)]);
}
