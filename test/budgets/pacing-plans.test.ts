import { expect, test } from 'vitest';
import { pacingProbability } from '../../src/budgets/pacing.ts';
import type { CampaignRules, TotalCap } from '../../src/catalog/rules.ts';
import { compileRules } from '../../src/decision/index/compile.ts';
import { useOf } from '../decision/support.ts';

const at = (text: string): number => Date.parse(`${text}Z`);

type Plan = { metric?: TotalCap['metric']; per: TotalCap['per']; limit: number; activated?: string; zone?: string };

/** What a plan has used at a time: the use at which the campaign takes part in half of the decisions. */
function plannedAt(
  time: string,
  { metric = 'impressions', per, limit, activated, zone = 'UTC' }: Plan,
  more: CampaignRules = {},
) {
  const rules = { pacing: 'even' as const, ...more, total_caps: [{ metric, per, limit }] };
  const activatedAtMs = activated === undefined ? null : at(activated);
  const compiled = compileRules({ id: 1, rules, goal: null, activatedAtMs }, zone);
  const size = metric === 'budget' ? limit * 1e6 : limit;
  const probability = (used: number): number => {
    const use = { day: used, month: used, lifetime: used };
    return pacingProbability(compiled, new Map([['1', useOf({ [metric]: use })]]), at(time));
  };
  if (probability(size) === 1) return 'no plan';
  let [low, high] = [0, size * 2];
  for (let round = 0; round < 60; round += 1) {
    const middle = (low + high) / 2;
    if (probability(middle) > 0.5) low = middle;
    else high = middle;
  }
  return Math.round((low / size) * 1000) / 10;
}

test('a campaign that is made at 11:41 is spread over the rest of its day', () => {
  const plan = { per: 'day', limit: 600, activated: '2026-11-23T11:41' } as const;
  expect(plannedAt('2026-11-23T11:41', plan)).toBe(0);
  expect(plannedAt('2026-11-23T12:00', plan)).toBeCloseTo(2.6, 1);
  expect(plannedAt('2026-11-23T17:50:30', plan)).toBeCloseTo(50.5, 1);
  expect(plannedAt('2026-11-24T12:00', plan)).toBeCloseTo(50.5, 1);
});

test('a given start counts before the activation, and impressions, clicks and money have the same plan', () => {
  const schedule = { start_at: '2026-11-23T06:00:00Z' };
  for (const metric of ['impressions', 'clicks', 'budget'] as const) {
    const plan = { metric, per: 'day', limit: 1000, activated: '2026-11-23T11:41' } as const;
    expect(plannedAt('2026-11-23T15:00', plan, { schedule })).toBeCloseTo(50.5, 1);
  }
});

test('a lifetime with only an end is divided among the days from its activation', () => {
  const schedule = { end_at: '2026-11-26T00:00:00Z' };
  const plan = { per: 'lifetime', limit: 600, activated: '2026-11-23T12:00' } as const;
  expect(plannedAt('2026-11-23T12:00', plan, { schedule })).toBe(0);
  // Half of the first of two and a half days: a tenth.
  expect(plannedAt('2026-11-23T18:00', plan, { schedule })).toBeCloseTo(10.1, 1);
});

test('a lifetime without an end is spread over the day of its activation, in its zone, and free afterwards', () => {
  const plan = { per: 'lifetime', limit: 600, activated: '2026-11-23T12:00', zone: 'Europe/Berlin' } as const;
  expect(plannedAt('2026-11-23T17:30', plan)).toBeCloseTo(50.5, 1);
  expect(plannedAt('2026-11-24T00:00', plan)).toBe('no plan');
});

test('a month counts the hours in which the campaign runs', () => {
  const hours = [{ days: [1, 2, 3, 4, 5], from: '08:00', to: '20:00' }];
  const plan = { per: 'month', limit: 3000 } as const;
  // November 2026 has 21 weekdays; on the evening of Friday the 13th ten of them are over, and stay so for the weekend.
  const share = (10 / 21 / 0.99) * 100;
  for (const time of ['2026-11-13T20:00', '2026-11-14T12:00', '2026-11-16T07:59'])
    expect(plannedAt(time, plan, { schedule: { time_zone: 'UTC', hours } })).toBeCloseTo(share, 0);
});

test('as_fast is another name of asap', () => {
  const plan = { per: 'day', limit: 10 } as const;
  for (const pacing of ['asap', 'as_fast'] as const)
    expect(plannedAt('2026-11-23T00:01', plan, { pacing })).toBe('no plan');
});
