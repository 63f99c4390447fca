import type { TrackedEvent } from '../../event-log/tracked-event.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { insertEvents, insertFirstEvents } from '../insert-events.ts';

/** How long a writer checks for conflicts after an unexpected one, at first and at most (milliseconds). */
const minCheckMs = 10_000;
const maxCheckMs = 3_600_000;

/**
 * Stores beacons that opt nobody out, each once and in no transaction but their own. The check for conflicts is a
 * quarter of what a batch costs PostgreSQL, and most events come once. So a batch without an event seen before is
 * inserted without the check. If the database has one of its events after all, from another process or from long ago,
 * it stores nothing of the batch, which is inserted again, with the check. From then on every batch is checked, for
 * longer each time, so that repeats cannot have batches written twice all the time.
 */
export function createBeaconWriter(now: () => number = performance.now.bind(performance)) {
  const seen = createSeenFilter();
  let checkMs = 0;
  let checksUntilMs = 0;

  function startChecking(): void {
    const nowMs = now();
    if (nowMs < checksUntilMs) return; // another batch in flight had a conflict as well
    // A longer time than the last one without conflicts resets the interval.
    checkMs = nowMs - checksUntilMs > checkMs ? minCheckMs : Math.min(2 * checkMs, maxCheckMs);
    checksUntilMs = nowMs + checkMs;
  }

  return async (executor: Executor, events: readonly TrackedEvent[]): Promise<void> => {
    const repeats = events.filter(seen.testAndAdd);
    if (repeats.length > 0 || now() < checksUntilMs) return insertEvents(executor, events);
    try {
      await insertFirstEvents(executor, events);
    } catch (err) {
      if ((err as { code?: unknown }).code !== uniqueViolation) throw err;
      startChecking();
      await insertEvents(executor, events);
    }
  };
}

const uniqueViolation = '23505';

/** Guesses which events were added before: it forgets, and once in thousands it is wrong. */
export type SeenFilter = {
  /** Whether the event was added before; adds it. */
  testAndAdd: (event: Pick<TrackedEvent, 'sessionId' | 'claims' | 'kind'>) => boolean;
};

/** A table of 32-bit hashes; an event replaces the one in its slot. A million are 4 MB, and 40 s at full load. */
export function createSeenFilter(slots = 2 ** 20): SeenFilter {
  const hashes = new Uint32Array(slots);
  return {
    testAndAdd: ({ sessionId, claims, kind }) => {
      const hash = mixText(Math.imul(mixText(seed, sessionId, randomPartStart) ^ claims.offerId, prime), kind) >>> 0;
      const slot = hash % slots;
      const wasSeen = hashes[slot] === hash;
      hashes[slot] = hash;
      return wasSeen;
    },
  };
}

/* FNV-1a. */
const seed = 0x811c9dc5;
const prime = 0x01000193;

/** Where the random part of a session id starts (characters); the time is before it. */
const randomPartStart = 14;

function mixText(hash: number, text: string, from = 0): number {
  let mixed = hash;
  for (let at = from; at < text.length; at += 1) mixed = Math.imul(mixed ^ text.charCodeAt(at), prime);
  return mixed;
}
