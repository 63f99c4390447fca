import { describe, expect, test } from 'vitest';
import { afterStep, type ReleaseInputs, stepAgesMs } from '../../src/budgets/reservations/release.ts';
import { type PayingEvent, payingEventOf } from '../../src/catalog/rules.ts';
import { createDelays, noteDelay } from '../../src/learning/delays.ts';
import type { DelayCounts } from '../../src/learning/progress.ts';
import type { HighRates } from '../../src/learning/score.ts';

const unproven: HighRates = { click: 1, conversion: 1 };
const proven: HighRates = { click: 1 / 8, conversion: 1 / 16 };

/** Payout of the paying event, in millionths. */
const full = 1024;

type Case = { paidBy: PayingEvent; rates?: HighRates; delays?: DelayCounts | null; isClicked?: boolean };

/** Returns the part of the payout that a response reserves. */
function reserved({ paidBy, rates = unproven }: Case) {
  const { click, conversion } = rates;
  const chance = { impression: 1, click, conversion: click * conversion }[paidBy];
  return { offerId: 1, impressions: 1, micros: full * chance, paidBy, chance };
}

/** Returns the remaining reservation at an age in seconds. */
function leftAt(ageS: number, testCase: Case): { impressions: number; micros: number } {
  const { rates = unproven, delays = null, isClicked = false } = testCase;
  const inputs: ReleaseInputs = { delays, ratesOf: () => rates };
  let remainder: ReturnType<typeof reserved> | null = reserved(testCase);
  for (const [step, ageMs] of stepAgesMs.entries())
    if (remainder !== null && ageMs <= ageS * 1000) remainder = afterStep(step, remainder, inputs, isClicked);
  const { impressions, micros } = remainder ?? { impressions: 0, micros: 0 };
  return { impressions, micros };
}

const minutes = (count: number): number => count * 60;
const hours = (count: number): number => count * 3600;

describe('reserved budget is released', () => {
  test('for a click on a proven offer, within 75 s as the click becomes less likely', () => {
    const remainingMicros = [0, 10, 25, 60, 75].map((ageS) => leftAt(ageS, { paidBy: 'click', rates: proven }).micros);
    // 1 in 8 users click, and 65% of the clicks come later than this. That is 1 in 12 of the users who have not
    // clicked yet.
    expect(remainingMicros).toEqual([128, 117, 87, 14, 0]);
  });

  test('for a click on an offer without a learned rate, in full after 75 s', () => {
    expect([0, 10, 25, 60, 74, 75].map((ageS) => leftAt(ageS, { paidBy: 'click' }).micros)).toEqual([
      ...[full, full, full, full, full, 0],
    ]);
  });

  test('for a conversion without a click, after 75 s', () => {
    for (const rates of [unproven, proven]) {
      const testCase: Case = { paidBy: 'conversion', rates };
      expect(leftAt(74, testCase).micros).toBe(rates === proven ? 8 : full);
      expect(leftAt(75, testCase)).toEqual({ impressions: 0, micros: 0 });
    }
  });

  test('for a conversion after a click, over days, starting from the cost of a clicked offer', () => {
    const testCase: Case = { paidBy: 'conversion', rates: proven, isClicked: true };
    expect([74, 75].map((ageS) => leftAt(ageS, testCase).micros)).toEqual([8, 64]);
    const later = [minutes(10), minutes(30), hours(1), hours(3), hours(12), hours(72)];
    const remainingMicros = later.map((ageS) => leftAt(ageS, { paidBy: 'conversion', isClicked: true }).micros);
    expect(remainingMicros).toEqual([717, 512, 410, 256, 102, 0]);
  });

  test('at the first step, if the offer was proven after the response', () => {
    const reservation = { ...reserved({ paidBy: 'click' }), micros: full };
    const remainder = afterStep(0, reservation, { delays: null, ratesOf: () => proven }, false);
    expect(remainder).toMatchObject({ micros: 117, impressions: 1 });
  });

  test('sooner or later, depending on the learned delays', () => {
    const [quick, slow] = [delayCountsOf(3, 60), delayCountsOf(30, 30_000)];
    const click = (ageS: number, delays: DelayCounts) =>
      leftAt(ageS, { paidBy: 'click', rates: proven, delays }).micros;
    expect(click(10, quick)).toBe(0);
    expect(click(10, slow)).toBeGreaterThan(120);
    expect(click(75, slow)).toBe(0);
    const conversion = (ageS: number, delays: DelayCounts) =>
      leftAt(ageS, { paidBy: 'conversion', isClicked: true, delays }).micros;
    expect(conversion(hours(1), quick)).toBe(0);
    expect(conversion(hours(3), slow)).toBeGreaterThan(900);
    expect(conversion(hours(12), slow)).toBeGreaterThan(400);
    expect(conversion(hours(72), slow)).toBe(0);
    // A few successes change the estimate little.
    expect(conversion(minutes(10), delayCountsOf(3, 60, 1))).toBeGreaterThan(650);
  });
});

/** Returns delay counts after a number of successes with the given delays, in seconds. */
function delayCountsOf(click: number, conversion: number, successes = 500): DelayCounts {
  const delays = { click: createDelays('click'), conversion: createDelays('conversion') };
  for (let at = 0; at < successes; at++) {
    noteDelay(delays.click, click * 1000);
    noteDelay(delays.conversion, conversion * 1000);
  }
  return { click: delays.click.counts, conversion: delays.conversion.counts };
}

test('an impression that does not arrive within a minute is released, whatever the campaign pays for', () => {
  for (const paidBy of ['impression', 'click', 'conversion'] as const)
    expect([59, 60].map((ageS) => leftAt(ageS, { paidBy }).impressions)).toEqual([1, 0]);
  expect(leftAt(60, { paidBy: 'impression' }).micros).toBe(0);
});

test('a reservation without an amount ends with its impression', () => {
  const reservation = { ...reserved({ paidBy: 'conversion' }), micros: 0 };
  const facts: ReleaseInputs = { delays: null, ratesOf: () => unproven };
  expect(afterStep(0, reservation, facts, false)).toBe(reservation);
  expect(afterStep(2, reservation, facts, false)).toBeNull();
});

test('the payout kind determines which event is paid', () => {
  expect((['cpm', 'cpc', 'cpa', 'cps'] as const).map(payingEventOf)).toEqual([
    ...['impression', 'click', 'conversion', 'conversion'],
  ]);
});
