import type pg from 'pg';
import { laterThan } from '../learning/delays.ts';
import { type KnownDelays, readDelays } from '../learning/progress.ts';
import { transaction } from '../platform/db/pool.ts';
import { hourMs, minuteMs } from '../platform/lib/time.ts';
import { reservationMs } from './history-records.ts';
import { type PayingEvent, releaseStep } from './reservations.ts';
import { addUsage } from './usage.ts';

/**
 * The releases of a reservation by the age of its session, and which share of its money stays reserved as long as no
 * delays are known: about the chance that the event is still to come
 * (docs/guides/how-a-decision-is-made.md#reservations). Impressions that have not come by `reservationMs` do not come;
 * for clicks after it, nothing is reserved.
 */
const steps: readonly ({ ageMs: number } & Record<PayingEvent, number>)[] = [
  { ageMs: 20_000, impression: 1, click: 0.6, conversion: 0.9 },
  { ageMs: 40_000, impression: 1, click: 0.25, conversion: 0.8 },
  { ageMs: reservationMs, impression: 0, click: 0, conversion: 0.7 },
  { ageMs: 10 * minuteMs, impression: 0, click: 0, conversion: 0.4 },
  { ageMs: 30 * minuteMs, impression: 0, click: 0, conversion: 0.2 },
  { ageMs: hourMs, impression: 0, click: 0, conversion: 0 },
  { ageMs: 3 * hourMs, impression: 0, click: 0, conversion: 0 },
  { ageMs: 12 * hourMs, impression: 0, click: 0, conversion: 0 },
  { ageMs: 72 * hourMs, impression: 0, click: 0, conversion: 0 },
];

/** Less is let go as a whole (share). */
const leastShare = 0.05;

/** The share of a reservation's money that a step leaves, of all that it was. */
function shareAfter(step: number, paidBy: PayingEvent, delays: KnownDelays | null): number {
  const { ageMs, [paidBy]: assumed } = steps[step] as (typeof steps)[number];
  if (paidBy === 'impression' || delays === null || (paidBy === 'click' && ageMs >= reservationMs)) return assumed;
  if (step === steps.length - 1) return 0;
  const share = laterThan(paidBy, delays[paidBy], ageMs, assumed);
  return share < leastShare ? 0 : share;
}

export const stepAgesMs: readonly number[] = steps.map(({ ageMs }) => ageMs);

type Reserved = { impressions: number; micros: number; paidBy: PayingEvent };

/** What a step leaves of a reservation that has been through the steps before it: itself, a smaller one, or null. */
export function afterStep<Reservation extends Reserved>(
  step: number,
  reservation: Reservation,
  delays: KnownDelays | null = null,
): Reservation | null {
  const { ageMs } = steps[step] as (typeof steps)[number];
  const before = step === 0 ? 1 : shareAfter(step - 1, reservation.paidBy, delays);
  const left = Math.min(before, shareAfter(step, reservation.paidBy, delays));
  const impressions = ageMs < reservationMs ? reservation.impressions : 0;
  const micros = before === 0 ? 0 : Math.floor((reservation.micros * left) / before);
  if (impressions === reservation.impressions && micros === reservation.micros) return reservation;
  return impressions === 0 && micros <= 0 ? null : { ...reservation, impressions, micros };
}

/** Sessions whose reservations are released in one transaction (count). */
const maxSessions = 500;

/** Releases cap reservations, step by step, as the time goes by without an event: the rest goes back to campaigns. */
export async function releaseDueReservations(pool: pg.Pool, nowMs: number): Promise<void> {
  const delays = await readDelays(pool);
  for (const [step, ageMs] of stepAgesMs.entries()) {
    const beforeMs = nowMs - ageMs;
    let sessions: number;
    do {
      sessions = await transaction(pool, async (executor) => {
        const due = { step, beforeMs, limit: maxSessions };
        const done = await releaseStep(executor, due, (reservation) => afterStep(step, reservation, delays));
        await addUsage(executor, done.released);
        return done.sessions;
      });
    } while (sessions === maxSessions);
  }
}
