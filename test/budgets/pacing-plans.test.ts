import { expect, test } from 'vitest';
import { pacingProbability } from '../../src/budgets/pacing.ts';
import type { CampaignRules, TotalCap } from '../../src/catalog/rules.ts';
import { compileRules } from '../../src/decision/index/compile.ts';
import { createModel, emptyModel, type Model } from '../../src/learning/model.ts';
import { hourOf, learnTraffic } from '../../src/learning/traffic.ts';
import { provisionTo, useOf } from '../decision/support.ts';

const at = (text: string): number => Date.parse(`${text}Z`);

type Plan = {
  metric?: TotalCap['metric'];
  per: TotalCap['per'];
  limit: number;
  activated?: string;
  zone?: string;
  model?: Model;
};

const provisions = new Map([[1, provisionTo(1)]]);

/**
 * Returns the planned usage at a time, that is, the usage at which the campaign takes part in half of the decisions.
 */
function plannedAt(
  time: string,
  { metric = 'impressions', per, limit, activated, zone = 'UTC', model = emptyModel }: Plan,
  more: CampaignRules = {},
) {
  const rules = { pacing: 'even' as const, ...more, total_caps: [{ metric, per, limit }] };
  const activatedAtMs = activated === undefined ? null : at(activated);
  const compiled = compileRules({ id: 1, rules, goal: null, activatedAtMs, provisions }, zone);
  const size = metric === 'budget' ? limit * 1e6 : limit;
  const probability = (used: number): number => {
    const use = { day: used, month: used, lifetime: used };
    const totals = new Map([['1', useOf({ [metric]: use })]]);
    return pacingProbability(compiled, { totals, model, nowMs: at(time) });
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

test('a campaign created at 11:41 is spread over the rest of its day', () => {
  const plan = { per: 'day', limit: 600, activated: '2026-11-23T11:41' } as const;
  expect(plannedAt('2026-11-23T11:41', plan)).toBe(0);
  expect(plannedAt('2026-11-23T12:00', plan)).toBeCloseTo(2.6, 1);
  expect(plannedAt('2026-11-23T17:50:30', plan)).toBeCloseTo(50.5, 1);
  expect(plannedAt('2026-11-24T12:00', plan)).toBeCloseTo(50.5, 1);
});

test('a start date overrides the activation, and impressions, clicks and budgets have the same plan', () => {
  const schedule = { start_at: '2026-11-23T06:00:00Z' };
  for (const metric of ['impressions', 'clicks', 'budget'] as const) {
    const plan = { metric, per: 'day', limit: 1000, activated: '2026-11-23T11:41' } as const;
    expect(plannedAt('2026-11-23T15:00', plan, { schedule })).toBeCloseTo(50.5, 1);
  }
});

test('a lifetime budget with only an end is divided among the days from its activation', () => {
  const schedule = { end_at: '2026-11-26T00:00:00Z' };
  const plan = { per: 'lifetime', limit: 600, activated: '2026-11-23T12:00' } as const;
  expect(plannedAt('2026-11-23T12:00', plan, { schedule })).toBe(0);
  // The plan covers half a day and two whole days. Half of the first half day has passed, which is a tenth of the plan.
  expect(plannedAt('2026-11-23T18:00', plan, { schedule })).toBeCloseTo(10.1, 1);
});

test('a lifetime budget without an end is spread over the local day of activation, and unpaced afterwards', () => {
  const plan = { per: 'lifetime', limit: 600, activated: '2026-11-23T12:00', zone: 'Europe/Berlin' } as const;
  expect(plannedAt('2026-11-23T17:30', plan)).toBeCloseTo(50.5, 1);
  expect(plannedAt('2026-11-24T00:00', plan)).toBe('no plan');
});

test('a monthly plan counts only the hours when the campaign runs', () => {
  const hours = [{ days: [1, 2, 3, 4, 5], from: '08:00', to: '20:00' }];
  const plan = { per: 'month', limit: 3000 } as const;
  // November 2026 has 21 weekdays. Ten of them are over on the evening of Friday the 13th, and this does not change
  // over the weekend.
  const share = (10 / 21 / 0.99) * 100;
  for (const time of ['2026-11-13T20:00', '2026-11-14T12:00', '2026-11-16T07:59'])
    expect(plannedAt(time, plan, { schedule: { time_zone: 'UTC', hours } })).toBeCloseTo(share, 0);
});

test('as_fast is an alias of asap', () => {
  const plan = { per: 'day', limit: 10 } as const;
  for (const pacing of ['asap', 'as_fast'] as const)
    expect(plannedAt('2026-11-23T00:01', plan, { pacing })).toBe('no plan');
});

/** Returns a model that has learned the hourly traffic (UTC) of publisher 1 over several weeks. */
function trafficOf(requestsIn: (hour: number) => number, days = 14): Model {
  const model = createModel();
  const first = hourOf(at('2026-11-02T00:00'));
  let running: [number, number] | undefined;
  for (let hour = first; hour <= first + days * 24; hour++)
    running = learnTraffic(model, 1, running, [hour, requestsIn((hour - first) % 24)]);
  return model;
}

/** Ten times as much traffic from 8:00 to 20:00, and none from 2:00 to 4:00. */
const byDay = trafficOf((hour) => (hour >= 8 && hour < 20 ? 1000 : hour === 2 || hour === 3 ? 0 : 100));

test('a plan follows the expected requests by hour, across days and within hours', () => {
  const plan = { per: 'day', limit: 1000, activated: '2026-11-01T00:00', model: byDay } as const;
  // There are 12 hours with 1,000 requests and 10 with 100. The two hours without requests count as a hundredth of the
  // average.
  expect(plannedAt('2026-11-23T08:00', plan)).toBeCloseTo(4.7, 0);
  expect(plannedAt('2026-11-23T14:00', plan)).toBeCloseTo(51.3, 0);
  expect(plannedAt('2026-11-23T20:00', plan)).toBeCloseTo(97.8, 0);
  const nights = { hours: [{ days: [1, 2, 3, 4, 5, 6, 7], from: '00:00', to: '12:00' }], time_zone: 'UTC' };
  expect(plannedAt('2026-11-23T08:00', plan, { schedule: nights })).toBeCloseTo(13.4, 0);
  const lifetime = { per: 'lifetime', limit: 1000, activated: '2026-11-23T00:00', model: byDay } as const;
  const schedule = { end_at: '2026-11-25T00:00:00Z' };
  expect(plannedAt('2026-11-23T20:00', lifetime, { schedule })).toBeCloseTo(48.9, 0);
});

test("a plan is flat until a day of requests is known, and ignores other publishers' requests", () => {
  const plan = { per: 'day', limit: 1000, activated: '2026-11-01T00:00' } as const;
  const flat = plannedAt('2026-11-23T08:00', plan);
  const short = trafficOf((hour) => hour * 10, 0.9);
  expect(plannedAt('2026-11-23T08:00', { ...plan, model: short })).toBe(flat);
  const elsewhere = createModel();
  learnTraffic(elsewhere, 2, learnTraffic(elsewhere, 2, undefined, [5, 10]), [500, 10]);
  expect(plannedAt('2026-11-23T08:00', { ...plan, model: elsewhere })).toBe(flat);
});

test('a plan in a half-hour time zone and across a clock change stays between 0 and the total', () => {
  const schedule = { hours: [{ days: [6, 7], from: '01:00', to: '05:00' }], time_zone: 'America/St_Johns' };
  const plan = { per: 'month', limit: 1000, activated: '2026-10-01T00:00', model: byDay } as const;
  const shares = ['2026-11-01T03:00', '2026-11-01T05:00', '2026-11-08T06:00', '2026-11-29T09:00'].map((time) =>
    Number(plannedAt(time, { ...plan, zone: 'America/St_Johns' }, { schedule })),
  );
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...shares)).toBeLessThanOrEqual(101);
});
