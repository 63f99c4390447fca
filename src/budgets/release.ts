import type pg from 'pg';
import { transaction } from '../platform/db/pool.ts';
import { afterStep, stepAgesMs } from './reservation-steps.ts';
import { releaseStep } from './reservations.ts';
import { addUsage } from './usage.ts';

/** Sessions whose reservations are released in one transaction (count). */
const maxSessions = 500;

/** Releases cap reservations, step by step, as the time goes by without an event: the rest goes back to campaigns. */
export async function releaseDueReservations(pool: pg.Pool, nowMs: number): Promise<void> {
  for (const [step, ageMs] of stepAgesMs.entries()) {
    const beforeMs = nowMs - ageMs;
    let sessions: number;
    do {
      sessions = await transaction(pool, async (executor) => {
        const due = { step, beforeMs, limit: maxSessions };
        const done = await releaseStep(executor, due, (reservation) => afterStep(step, reservation));
        await addUsage(executor, done.released);
        return done.sessions;
      });
    } while (sessions === maxSessions);
  }
}
