import { expect, test } from 'vitest';
import { afterStep, stepAgesMs } from '../../src/budgets/release.ts';
import { type PayingEvent, payingEventOf } from '../../src/budgets/reservations.ts';
import { createDelays, noteDelay } from '../../src/learning/delays.ts';
import type { KnownDelays } from '../../src/learning/progress.ts';

/** What is left of a reservation of 1,000 at an age (seconds). */
function leftAt(
  paidBy: PayingEvent,
  ageS: number,
  delays: KnownDelays | null = null,
): { impressions: number; micros: number } {
  let left: { impressions: number; micros: number; paidBy: PayingEvent } | null = {
    ...{ impressions: 1, micros: 1000, paidBy },
  };
  for (const [step, ageMs] of stepAgesMs.entries())
    if (left !== null && ageMs <= ageS * 1000) left = afterStep(step, left, delays);
  const { impressions, micros } = left ?? { impressions: 0, micros: 0 };
  return { impressions, micros };
}

test('money for a click is let go within a minute, for a conversion within an hour, in steps', () => {
  const money = (paidBy: PayingEvent) => [0, 20, 40, 60, 600, 1800, 3600].map((ageS) => leftAt(paidBy, ageS).micros);
  expect(money('impression')).toEqual([1000, 1000, 1000, 0, 0, 0, 0]);
  expect(money('click')).toEqual([1000, 600, 250, 0, 0, 0, 0]);
  expect(money('conversion')).toEqual([1000, 900, 800, 700, 400, 200, 0]);
});

/** What is known after so many successes of a delay each (seconds). */
function known(click: number, conversion: number, successes = 500): KnownDelays {
  const delays = { click: createDelays('click'), conversion: createDelays('conversion') };
  for (let at = 0; at < successes; at++) {
    noteDelay(delays.click, click * 1000);
    noteDelay(delays.conversion, conversion * 1000);
  }
  return { click: delays.click.counts, conversion: delays.conversion.counts };
}

test('money is let go as the delays say that were learned: at once, or after days', () => {
  const money = (paidBy: PayingEvent, delays: KnownDelays | null) =>
    [20, 40, 60, 600, 3600, 10_800, 43_200, 259_200].map((ageS) => leftAt(paidBy, ageS, delays).micros);
  const [quick, slow] = [known(3, 60), known(30, 30_000)];
  expect(money('click', quick)).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
  expect(money('click', slow)[0]).toBeGreaterThan(950);
  expect(money('click', slow)[2]).toBe(0);
  expect(money('conversion', quick)[3]).toBe(0);
  const [, , , , anHour, threeHours, halfADay, threeDays] = money('conversion', slow);
  expect(anHour).toBeGreaterThan(900);
  expect(threeHours).toBeGreaterThan(900);
  expect(halfADay).toBeGreaterThan(400);
  expect(threeDays).toBe(0);
  // A few successes change little.
  expect(money('conversion', known(3, 60, 1))[0]).toBeGreaterThan(800);
});

test('an impression that has not come within a minute is let go, whatever its campaign pays for', () => {
  for (const paidBy of ['impression', 'click', 'conversion'] as const)
    expect([59, 60].map((ageS) => leftAt(paidBy, ageS).impressions)).toEqual([1, 0]);
});

test('a reservation without money ends with its impression', () => {
  const reservation = { impressions: 1, micros: 0, paidBy: 'conversion' as const };
  expect(afterStep(0, reservation)).toBe(reservation);
  expect(afterStep(2, reservation)).toBeNull();
});

test('the event that pays is that of the payout', () => {
  expect((['cpm', 'cpc', 'cpa', 'cps'] as const).map(payingEventOf)).toEqual([
    ...['impression', 'click', 'conversion', 'conversion'],
  ]);
});
