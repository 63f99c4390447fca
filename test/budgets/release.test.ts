import { expect, test } from 'vitest';
import { afterStep, stepAgesMs } from '../../src/budgets/release.ts';
import { type PayingEvent, payingEventOf } from '../../src/budgets/reservations.ts';

/** What is left of a reservation of 1,000 at an age (seconds). */
function leftAt(paidBy: PayingEvent, ageS: number): { impressions: number; micros: number } {
  let left: { impressions: number; micros: number; paidBy: PayingEvent } | null = {
    ...{ impressions: 1, micros: 1000, paidBy },
  };
  for (const [step, ageMs] of stepAgesMs.entries())
    if (left !== null && ageMs <= ageS * 1000) left = afterStep(step, left);
  const { impressions, micros } = left ?? { impressions: 0, micros: 0 };
  return { impressions, micros };
}

test('money for a click is let go within a minute, for a conversion within an hour, in steps', () => {
  const money = (paidBy: PayingEvent) => [0, 20, 40, 60, 600, 1800, 3600].map((ageS) => leftAt(paidBy, ageS).micros);
  expect(money('impression')).toEqual([1000, 1000, 1000, 0, 0, 0, 0]);
  expect(money('click')).toEqual([1000, 600, 250, 0, 0, 0, 0]);
  expect(money('conversion')).toEqual([1000, 900, 800, 700, 400, 200, 0]);
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
