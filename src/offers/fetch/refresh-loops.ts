import type { DatabaseHealth } from '../../platform/db/health.ts';
import { type Loop, startLoop } from '../../platform/lib/loop.ts';
import type { Logger } from '../../platform/logger.ts';

type Periodic = { name: string; everyMs: number; work: () => Promise<void>; dbHealth: DatabaseHealth; logger: Logger };

/** Does a piece of work now and again and again, with a pause after each time; not while the store is away. */
export function startPeriodic({ name, everyMs, work, dbHealth, logger }: Periodic): Loop {
  let failing = false;
  return startLoop(async () => {
    const startMs = performance.now();
    try {
      if (dbHealth.isUp()) await work();
      failing = false;
    } catch (err) {
      if (!failing && dbHealth.isUp()) logger.warn({ err, name }, 'a periodic task failed');
      failing = true;
    }
    // What takes long is done less often: it may use a twentieth of the time.
    return Math.max(everyMs, 20 * (performance.now() - startMs));
  });
}
