import type pg from 'pg';
import { type Loop, startLoop } from '../../platform/lib/loop.ts';
import type { Logger } from '../../platform/logger.ts';
import { runningJobs, runSlice } from './jobs.ts';

/** How often the workers look for jobs (milliseconds). */
const pollMs = 1000;

type RunnerOptions = { pool: pg.Pool; logger: Logger; now: () => number };

/** Runs redelivery jobs, a slice of each in turn, in any number of workers. */
export function startRedeliveries({ pool, logger, now }: RunnerOptions): Loop {
  return startLoop(async (isStopped) => {
    try {
      let busy = await runningJobs(pool);
      while (busy.length > 0 && !isStopped()) {
        const more: string[] = [];
        for (const id of busy) if (!isStopped() && (await runSlice(pool, id, now()))) more.push(id);
        busy = more;
      }
    } catch (err) {
      logger.debug({ err }, 'redeliveries could not be worked off yet');
    }
    return pollMs;
  });
}
