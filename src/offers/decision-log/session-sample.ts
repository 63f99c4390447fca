import type { DecisionContext } from '../../decision/types.ts';
import { sampleShare } from '../../platform/db/partitions.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { dayOf } from '../../platform/lib/time.ts';
import { readDecisionRecord } from '../fetch/decide-session.ts';
import { type ContextRow, toContext } from '../re-decide.ts';

/** Requests of stored sessions. `share`: how much of all sessions was read, 1 where that is every one. */
export type SessionSample = { contexts: readonly DecisionContext[]; share: number };

/** Rows converted between two pauses (count). */
const sliceSize = 1000;

/** A random sample of a publisher's sessions, without those of testers and of erased users. */
export async function sampleSessions(
  executor: Executor,
  { publisherId, sinceMs }: { publisherId: number; sinceMs: number },
): Promise<SessionSample> {
  const share = await sampleShare(executor, 'sessions');
  const { rows } = await executor.query<ContextRow & { decision: string }>(
    `select placement, user_key, country, device, os, custom, language, dev, decision,
      round(extract(epoch from created_at) * 1000)::float8 as created_ms
    from sessions tablesample system ($4)
    where day >= $2::date and created_at >= $3 and publisher_id = $1 and decision is not null and not dev`,
    [publisherId, dayOf(sinceMs), new Date(sinceMs), share * 100],
  );
  return { contexts: await runInSlices(toContexts(rows)), share };
}

function* toContexts(rows: readonly (ContextRow & { decision: string })[]): Generator<void, DecisionContext[]> {
  const contexts: DecisionContext[] = [];
  for (const row of rows) {
    contexts.push(toContext(row, readDecisionRecord(row.decision).inputs));
    if (contexts.length % sliceSize === 0) yield;
  }
  return contexts;
}
