import type pg from 'pg';
import { transaction } from '../platform/db/pool.ts';
import { deleteExpiredReservations } from './reservations.ts';
import { addUsage, takenDeltas } from './usage.ts';

/** Sessions whose reservations are released in one transaction (count). */
const maxExpired = 500;

/** Releases cap reservations whose time is up without an event: their amounts go back to the campaigns. */
export async function releaseExpiredReservations(pool: pg.Pool, nowMs: number): Promise<void> {
  let released: number;
  do {
    released = await transaction(pool, async (executor) => {
      const { sessions, reservations } = await deleteExpiredReservations(executor, nowMs, maxExpired);
      await addUsage(
        executor,
        reservations.flatMap((reservation) => takenDeltas(reservation, -1)),
      );
      return sessions;
    });
  } while (released === maxExpired);
}
