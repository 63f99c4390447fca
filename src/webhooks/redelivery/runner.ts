import type pg from 'pg';
import { runningJobs, runSlice } from './jobs.ts';

type RunnerDeps = { pool: pg.Pool; now: () => number };

/** Works through the redelivery jobs, a slice of each in turn. Any number of workers may do it. */
export async function runRedeliveries({ pool, now }: RunnerDeps, isStopped: () => boolean): Promise<void> {
  let unfinished = await runningJobs(pool);
  while (unfinished.length > 0 && !isStopped()) {
    const remaining: string[] = [];
    for (const id of unfinished) if (!isStopped() && (await runSlice(pool, id, now()))) remaining.push(id);
    unfinished = remaining;
  }
}
