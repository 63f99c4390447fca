import type pg from 'pg';
import type { PayingEvent } from '../../catalog/rules.ts';
import { laterThan } from '../../learning/delays.ts';
import { type DelayCounts, readDelays } from '../../learning/progress.ts';
import type { HighRates } from '../../learning/score.ts';
import { transaction } from '../../platform/db/pool.ts';
import { hourMs, minuteMs } from '../../platform/lib/time.ts';
import { reservationMs } from '../history/records.ts';
import { addUsage } from '../usage/usage.ts';
import { releaseStep } from './reservations.ts';

/** Clicks that have not come by this age are not foreseen (milliseconds). */
const clickMs = 75_000;

/**
 * The releases of a reservation by the age of its session, and which share of the events comes later, as long as no
 * delays are known (docs/guides/how-a-decision-is-made.md#reservations). Impressions that have not come by
 * `reservationMs` do not come; for clicks after `clickMs`, nothing is reserved.
 */
const steps: readonly ({ ageMs: number } & Record<PayingEvent, number>)[] = [
  { ageMs: 10_000, impression: 1, click: 0.9, conversion: 1 },
  { ageMs: 25_000, impression: 1, click: 0.65, conversion: 1 },
  { ageMs: reservationMs, impression: 0, click: 0.1, conversion: 1 },
  { ageMs: clickMs, impression: 0, click: 0, conversion: 1 },
  { ageMs: 10 * minuteMs, impression: 0, click: 0, conversion: 0.7 },
  { ageMs: 30 * minuteMs, impression: 0, click: 0, conversion: 0.5 },
  { ageMs: hourMs, impression: 0, click: 0, conversion: 0.4 },
  { ageMs: 3 * hourMs, impression: 0, click: 0, conversion: 0.25 },
  { ageMs: 12 * hourMs, impression: 0, click: 0, conversion: 0.1 },
  { ageMs: 72 * hourMs, impression: 0, click: 0, conversion: 0 },
];

/** The step by which clicks have come: money for the conversions of those that have not is let go. */
const clickStep = steps.findIndex(({ ageMs }) => ageMs === clickMs);

/** Less is let go as a whole (share). */
const leastShare = 0.05;

/** The share of events that comes after a step. */
function laterShare(step: number, paidBy: PayingEvent, delays: DelayCounts | null): number {
  const at = steps[step];
  if (at === undefined) return 1;
  const { ageMs, [paidBy]: assumed } = at;
  if (paidBy === 'impression' || delays === null || assumed === 0) return assumed;
  return laterThan(paidBy, delays[paidBy], ageMs, assumed);
}

export const stepAgesMs: readonly number[] = steps.map(({ ageMs }) => ageMs);

/** What is known when reservations are released. */
export type Known = {
  /** How long events take; null: not known. */
  delays: DelayCounts | null;
  /** What the rates of an offer may be at most. */
  ratesOf: (offerId: number) => HighRates;
};

type Reserved = {
  offerId: number;
  impressions: number;
  micros: number;
  paidBy: PayingEvent;
  chance: number;
};

/**
 * What a step leaves of a reservation that has been through the steps before it: itself, another one, or null.
 * @param isClicked asked at `clickStep` only
 */
export function afterStep<One extends Reserved>(
  step: number,
  reservation: One,
  known: Known,
  isClicked: boolean,
): One | null {
  const impressions = (steps[step] as { ageMs: number }).ageMs < reservationMs ? reservation.impressions : 0;
  const chance = chanceAfter(step, reservation, known, isClicked);
  const { chance: before } = reservation;
  const micros = before === 0 ? 0 : Math.round((reservation.micros * chance) / before);
  if (impressions === reservation.impressions && micros === reservation.micros) return reservation;
  return impressions === 0 && micros <= 0 ? null : { ...reservation, impressions, micros, chance };
}

/** The chance after a step that the event still comes, taken high. */
function chanceAfter(step: number, { offerId, paidBy, chance }: Reserved, known: Known, isClicked: boolean): number {
  const { delays, ratesOf } = known;
  const [later, laterBefore] = [laterShare(step, paidBy, delays), laterShare(step - 1, paidBy, delays)];
  if (paidBy === 'impression' || laterBefore === 0) return chance * later;
  const rates = ratesOf(offerId);
  const part = Math.min(1, later / laterBefore);
  if (paidBy === 'click') {
    const left = chanceLeft(rates.click, later);
    return left < leastShare * rates.click ? 0 : Math.min(chanceLeft(chance, part), left);
  }
  if (step < clickStep) return Math.min(chance, rates.click * rates.conversion);
  if (step === clickStep) return isClicked ? rates.conversion : 0;
  // Conversions may take days: their money is let go with the delays alone, or little known offers would wait for long.
  return later < leastShare ? 0 : Math.min(chance * part, rates.conversion * later);
}

/** The chance of an event that has not come yet. @param later the share of events that comes later than now */
const chanceLeft = (chance: number, later: number): number => (chance * later) / (1 - chance * (1 - later) || 1);

/** Sessions whose reservations are released in one transaction (count). */
const maxSessions = 500;

/** Releases cap reservations, step by step, as the time goes by without an event: the rest goes back to campaigns. */
export async function releaseDueReservations(pool: pg.Pool, nowMs: number, ratesOf: Known['ratesOf']): Promise<void> {
  const known = { delays: await readDelays(pool), ratesOf };
  for (const [step, ageMs] of stepAgesMs.entries()) {
    const beforeMs = nowMs - ageMs;
    let sessions: number;
    do {
      sessions = await transaction(pool, async (executor) => {
        const due = { step, beforeMs, limit: maxSessions, seesClicks: step === clickStep };
        const done = await releaseStep(executor, due, (one, isClicked) => afterStep(step, one, known, isClicked));
        await addUsage(executor, done.released);
        return done.sessions;
      });
    } while (sessions === maxSessions);
  }
}
