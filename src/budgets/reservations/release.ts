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

/** Session age, in milliseconds, after which no further clicks are expected. */
const clickMs = 75_000;

/**
 * Release steps for reservations, by session age. Each step states the share of events that are still to come. These
 * shares are used until actual delays are known (docs/guides/how-a-decision-is-made.md#reservations). Impressions are
 * not expected after `reservationMs`, and nothing is reserved for clicks after `clickMs`.
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

/**
 * Step at which no more clicks are expected. Amounts reserved for conversions of offers that were not clicked are
 * released.
 */
const clickStep = steps.findIndex(({ ageMs }) => ageMs === clickMs);

/** Share of a reservation below which the entire remainder is released. */
const leastShare = 0.05;

/** Share of events that occur after a step. */
function laterShare(step: number, paidBy: PayingEvent, delays: DelayCounts | null): number {
  const at = steps[step];
  if (at === undefined) return 1;
  const { ageMs, [paidBy]: assumed } = at;
  if (paidBy === 'impression' || delays === null || assumed === 0) return assumed;
  return laterThan(paidBy, delays[paidBy], ageMs, assumed);
}

export const stepAgesMs: readonly number[] = steps.map(({ ageMs }) => ageMs);

/** Data for releasing reservations. */
export type ReleaseInputs = {
  /** Observed event delays, or null if unknown. */
  delays: DelayCounts | null;
  /** Returns upper bounds for an offer's rates. */
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
 * Returns what remains of a reservation after a step: the same object if unchanged, a smaller reservation, or null. All
 * earlier steps must already have been applied.
 * @param isClicked whether the offer was clicked; used at `clickStep` only
 */
export function afterStep<One extends Reserved>(
  step: number,
  reservation: One,
  inputs: ReleaseInputs,
  isClicked: boolean,
): One | null {
  const impressions = (steps[step] as { ageMs: number }).ageMs < reservationMs ? reservation.impressions : 0;
  const chance = chanceAfter(step, reservation, inputs, isClicked);
  const { chance: before } = reservation;
  const micros = before === 0 ? 0 : Math.round((reservation.micros * chance) / before);
  if (impressions === reservation.impressions && micros === reservation.micros) return reservation;
  return impressions === 0 && micros <= 0 ? null : { ...reservation, impressions, micros, chance };
}

/** Upper estimate of the probability, after a step, that the event will still occur. */
function chanceAfter(
  step: number,
  { offerId, paidBy, chance }: Reserved,
  inputs: ReleaseInputs,
  isClicked: boolean,
): number {
  const { delays, ratesOf } = inputs;
  const [later, laterBefore] = [laterShare(step, paidBy, delays), laterShare(step - 1, paidBy, delays)];
  if (paidBy === 'impression' || laterBefore === 0) return chance * later;
  const rates = ratesOf(offerId);
  const part = Math.min(1, later / laterBefore);
  if (paidBy === 'click') {
    const remainingChance = chanceLeft(rates.click, later);
    return remainingChance < leastShare * rates.click ? 0 : Math.min(chanceLeft(chance, part), remainingChance);
  }
  if (step < clickStep) return Math.min(chance, rates.click * rates.conversion);
  if (step === clickStep) return isClicked ? rates.conversion : 0;
  // Conversions can take days, so their amounts are released based on conversion delays only. Otherwise, offers with
  // little data would hold their reservations for too long.
  return later < leastShare ? 0 : Math.min(chance * part, rates.conversion * later);
}

/**
 * Probability that an event that has not occurred yet will still occur.
 * @param later share of events that occur later than now
 */
const chanceLeft = (chance: number, later: number): number => (chance * later) / (1 - chance * (1 - later) || 1);

/** Maximum number of sessions whose reservations are released in one transaction. */
const maxSessions = 500;

/**
 * Releases cap reservations step by step as sessions age without an event, and makes the amounts available to the
 * campaigns again.
 */
export async function releaseDueReservations(
  pool: pg.Pool,
  nowMs: number,
  ratesOf: ReleaseInputs['ratesOf'],
): Promise<void> {
  const inputs = { delays: await readDelays(pool), ratesOf };
  for (const [step, ageMs] of stepAgesMs.entries()) {
    const beforeMs = nowMs - ageMs;
    let sessions: number;
    do {
      sessions = await transaction(pool, async (executor) => {
        const stepOptions = { step, beforeMs, limit: maxSessions, seesClicks: step === clickStep };
        const done = await releaseStep(executor, stepOptions, (reservation, isClicked) =>
          afterStep(step, reservation, inputs, isClicked),
        );
        await addUsage(executor, done.released);
        return done.sessions;
      });
    } while (sessions === maxSessions);
  }
}
