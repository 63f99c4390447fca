import type { Executor } from '../../platform/db/pool.ts';
import { insertBeacons, insertFirstBeacons, type TrackedEvent } from './insert-events.ts';
import { createRecent } from './seen-filter.ts';

/** How long a writer asks for conflicts after it met one it did not expect, at first and at most (milliseconds). */
const shortestMs = 10_000;
const longestMs = 3_600_000;

/**
 * Stores impressions and closes, each once and in no transaction but their own. To ask for conflicts is a quarter of
 * what a batch
 * costs PostgreSQL, and most events come once. So a batch in which nothing was seen before is inserted without asking;
 * where the
 * store knows one of its events after all, from another process or from long ago, it takes nothing of the batch, which
 * is stored
 * again, asking. From then on every batch asks, for longer each time: no repeats, whoever sends them, can have batches
 * written
 * twice all the time.
 */
export function createBeaconWriter(now: () => number = performance.now.bind(performance)) {
  const recent = createRecent();
  let pauseMs = 0;
  let asksUntilMs = 0;

  function ask(): void {
    const nowMs = now();
    if (nowMs < asksUntilMs) return; // the other batch under way met one, too
    // Whoever went without for longer than the last pause begins anew.
    pauseMs = nowMs - asksUntilMs > pauseMs ? shortestMs : Math.min(2 * pauseMs, longestMs);
    asksUntilMs = nowMs + pauseMs;
  }

  return async (executor: Executor, events: readonly TrackedEvent[]): Promise<void> => {
    const repeats = events.filter(recent.meet);
    if (repeats.length > 0 || now() < asksUntilMs) return insertBeacons(executor, events);
    try {
      await insertFirstBeacons(executor, events);
    } catch (err) {
      if ((err as { code?: unknown }).code !== uniqueViolation) throw err;
      ask();
      await insertBeacons(executor, events);
    }
  };
}

const uniqueViolation = '23505';
