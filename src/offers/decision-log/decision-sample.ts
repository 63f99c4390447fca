import type { Publisher, Snapshot } from '../../catalog/types.ts';
import type { DecisionContext, DecisionInput } from '../../decision/types.ts';
import type { Model } from '../../learning/model.ts';
import { loadVersion } from '../../learning/versions.ts';
import { sampleShare } from '../../platform/db/partitions.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import {
  type ContextRow,
  type DecisionRow,
  decisionColumns,
  inputWith,
  type StoredDecision,
  toContext,
  toStoredDecision,
} from '../re-decide.ts';
import { readDecisionRecord } from '../session-record.ts';
import { catalogueIdOf, findState, unpackCatalogue } from './states.ts';

/** Maximum age of sampled decisions, in days. Older decisions can no longer be re-decided. */
const days = 7;

/**
 * Maximum number of decisions to re-decide. The next constants limit the catalogues and models needed for them, which
 * are slow to load.
 */
const maxDecisions = 200;
const maxCatalogues = 3;
const maxModels = 10;

/** Maximum number of stored decisions from which the sample is chosen. */
const maxRows = 2000;

/** Stored decision that can be re-decided, with the publishers as they were at that time. */
export type SampledDecision = { input: DecisionInput; publishers: ReadonlyMap<number, Publisher> };

/** Random sample of a publisher's stored decisions, with the approximate number of sessions in the sampled days. */
export type DecisionSample = { decisions: readonly SampledDecision[]; sessions: number; days: number };

/**
 * Samples decisions of a publisher. Decisions for testers, erased users, and fetches that were late or held out are
 * excluded.
 */
export async function sampleDecisions(executor: Executor, publisherId: number, nowMs: number): Promise<DecisionSample> {
  const sinceMs = nowMs - days * dayMs;
  const share = await sampleShare(executor, 'sessions', sinceMs);
  const { rows } = await executor.query<DecisionRow & { id: string; found: number }>(
    `select id, ${decisionColumns}, count(*) over ()::float8 as found
    from sessions tablesample system ($4)
    where day >= $2::date and created_at >= $3 and publisher_id = $1 and decision is not null and not dev
      and coalesce(empty_reason, '') not in ('deadline', 'held_out')
    order by random() limit ${maxRows}`,
    [publisherId, dayOf(sinceMs), new Date(sinceMs), share * 100],
  );
  const stored = rows.map((row) => toStoredDecision(row, row.id));
  const decisions: SampledDecision[] = [];
  for (const [id, ofCatalogue] of largestBy(stored, catalogueIdOf, maxCatalogues)) {
    const publishers = await publishersOf(executor, id);
    const publisher = publishers?.get(publisherId);
    if (publishers === null || publisher === undefined) continue;
    for (const [version, ofModel] of largestBy(ofCatalogue, modelVersionOf, maxModels)) {
      const model: Model | null = await loadVersion(executor, version);
      if (model === null) continue;
      for (const stored of ofModel) decisions.push({ input: inputWith(stored, publisher, model), publishers });
      if (decisions.length >= maxDecisions) break;
    }
    if (decisions.length >= maxDecisions) break;
  }
  return { decisions: decisions.slice(0, maxDecisions), sessions: Math.round((rows[0]?.found ?? 0) / share), days };
}

async function publishersOf(executor: Executor, catalogueId: string): Promise<Snapshot['publishers'] | null> {
  const packed = await findState(executor, catalogueId);
  return packed === null ? null : (await unpackCatalogue(packed)).publishers;
}

const modelVersionOf = ({ inputs }: StoredDecision): number => inputs.modelVersion ?? 0;

/** Groups items by key and returns the `count` largest groups, largest first. */
function largestBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key, count: number): [Key, Item[]][] {
  const groups = new Map<Key, Item[]>();
  for (const item of items) getOrInsert(groups, keyOf(item), () => []).push(item);
  return [...groups].sort(([, a], [, b]) => b.length - a.length).slice(0, count);
}

/** Request data of sampled sessions. `share` is the fraction of all sessions that was read, from 0 to 1. */
export type SessionSample = { contexts: readonly DecisionContext[]; share: number };

/** Number of rows to convert before yielding to the event loop. */
const sliceSize = 1000;

/** Reads a random sample of a publisher's sessions. Sessions of testers and erased users are excluded. */
export async function sampleSessions(
  executor: Executor,
  { publisherId, sinceMs }: { publisherId: number; sinceMs: number },
): Promise<SessionSample> {
  const share = await sampleShare(executor, 'sessions', sinceMs);
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
