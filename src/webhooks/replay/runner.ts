import type pg from 'pg';
import type { Logger } from '../../logger.ts';
import { runningJobs, runSlice } from './jobs.ts';

/** How often the workers look for jobs (milliseconds). */
const pollMs = 1000;

type RunnerOptions = { pool: pg.Pool; logger: Logger; now: () => number };

/** Works off replay jobs, a slice of each in turn. Any number of workers may do it. */
export function startReplays({ pool, logger, now }: RunnerOptions): { stop: () => Promise<void> } {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function round(): Promise<void> {
    try {
      let busy = await runningJobs(pool);
      while (busy.length > 0 && !stopped) {
        const more: string[] = [];
        for (const id of busy) if (!stopped && (await runSlice(pool, id, now()))) more.push(id);
        busy = more;
      }
    } catch (err) {
      logger.debug({ err }, 'replays could not be worked off yet');
    }
    if (!stopped) timer = setTimeout(next, pollMs);
  }

  let running = round();
  function next(): void {
    running = round();
  }
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
