import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { learningLock, type Progress, readProgress, writeProgress } from '../progress.ts';
import { insertVersion, type NewVersion, newestVersion } from '../versions.ts';

/** Time without a heartbeat after which a learner loses the lead, in milliseconds. */
const leadMs = 30_000;

const lock = (executor: Executor): Promise<unknown> => executor.query(`select pg_advisory_xact_lock(${learningLock})`);

/**
 * Returns the database's current time, in epoch milliseconds. It is used because the clocks of processes may differ.
 */
export async function databaseNow(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ now_ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms',
  );
  return rows[0]?.now_ms ?? 0;
}

/**
 * Takes the lead unless another learner has it.
 * @returns whether this learner now leads
 */
export const acquireLead = (pool: pg.Pool, id: string): Promise<boolean> =>
  transaction(pool, async (executor) => {
    await lock(executor);
    const [progress, nowMs] = [await readProgress(executor), await databaseNow(executor)];
    const { lead } = progress;
    // A heartbeat far in the future is as invalid as an old one, because the database clock may have been set back.
    if (lead !== null && lead.id !== id && Math.abs(nowMs - lead.atMs) <= leadMs) return false;
    await writeProgress(executor, { ...progress, lead: { id, atMs: nowMs } });
    return true;
  });

/** Whether this learner still leads and no other learner has stored a version. */
export async function isLeading(executor: Executor, id: string, version: number): Promise<boolean> {
  const { lead } = await readProgress(executor);
  return lead?.id === id && (await newestVersion(executor)) === version;
}

/** Gives up the lead, so that another learner can take over immediately. */
export const endLead = (pool: pg.Pool, id: string): Promise<void> =>
  transaction(pool, async (executor) => {
    await lock(executor);
    const progress = await readProgress(executor);
    if (progress.lead?.id === id) await writeProgress(executor, { ...progress, lead: null });
  });

type Next = {
  versions: readonly NewVersion[];
  next: Progress;
  /** Progress at the start of the run. */
  before: Progress;
  nowMs: number;
};

/**
 * Stores versions and progress, unless another process has changed the progress in the meantime.
 * @returns whether they were stored
 */
export const storeNext = (pool: pg.Pool, { versions, next, before, nowMs }: Next): Promise<boolean> =>
  transaction(pool, async (executor) => {
    await lock(executor);
    if (JSON.stringify(await readProgress(executor)) !== JSON.stringify(before)) return false;
    for (const version of versions) await insertVersion(executor, { ...version, nowMs });
    await writeProgress(executor, next);
    return true;
  });
