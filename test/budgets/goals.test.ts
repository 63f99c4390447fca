import { expect, test } from 'vitest';
import { deliveryOf, goalProbability, isBehind } from '../../src/budgets/goals.ts';
import type { CampaignRules } from '../../src/catalog/rules.ts';
import { compileRules } from '../../src/decision/index/compile.ts';
import { emptyModel } from '../../src/learning/model.ts';

const at = (text: string): number => Date.parse(`${text}Z`);

/** Goal of 1,000 clicks within ten days. */
const goal = { metric: 'clicks', count: 1000, sinceMs: at('2026-11-01T00:00'), byMs: at('2026-11-11T00:00') } as const;

const rulesWith = (rules: CampaignRules = {}) =>
  compileRules({ id: 1, rules, goal, activatedAtMs: at('2026-10-01T00:00'), provisions: new Map() }, 'UTC');

const standing = (rules: ReturnType<typeof rulesWith>, delivered: number, nowMs: number) =>
  deliveryOf(rules, delivered, { model: emptyModel, nowMs });

const halfway = at('2026-11-06T00:00');

test("a goal's plan is spread evenly over its time, and at 90% of the plan it is on track", () => {
  expect(standing(rulesWith(), 500, halfway)).toEqual({ percent: 100, expected: 500, delivered: 500, onTrack: true });
  expect(standing(rulesWith(), 450, halfway)).toMatchObject({ percent: 90, onTrack: true });
  expect(standing(rulesWith(), 440, halfway)).toMatchObject({ percent: 88, onTrack: false });
  expect(standing(rulesWith(), 0, goal.sinceMs)).toEqual({ percent: 100, expected: 0, delivered: 0, onTrack: true });
  expect(standing(rulesWith(), 900, at('2026-12-24T00:00'))).toMatchObject({ percent: 90, expected: 1000 });
});

test('a plan covers only the time when the campaign runs', () => {
  const schedule = { start_at: '2026-11-05T00:00:00Z', end_at: '2026-11-09T00:00:00Z' };
  expect(standing(rulesWith({ schedule }), 0, halfway)).toMatchObject({ expected: 250 });
  const nights = { time_zone: 'UTC', hours: [{ days: [1, 2, 3, 4, 5, 6, 7], from: '00:00', to: '06:00' }] };
  expect(standing(rulesWith({ schedule: nights }), 0, halfway + 3_600_000)).toMatchObject({ expected: 516 });
});

const probability = (delivered: number | undefined, nowMs = halfway): number =>
  goalProbability(rulesWith(), {
    totals: new Map([['1', delivered === undefined ? {} : { goal: delivered }]]),
    model: emptyModel,
    nowMs,
  });

test('a campaign comes first more often the further it is behind its plan, and always beyond a threshold', () => {
  expect(probability(510)).toBe(0);
  const shares = [502, 500, 497, 494].map((delivered) => probability(delivered));
  for (const [index, share] of shares.entries()) {
    expect(share).toBeGreaterThan(index === 0 ? 0 : (shares[index - 1] as number));
    expect(share).toBeLessThan(1.01);
  }
  expect(probability(470)).toBe(1);
});

test('a small gap puts a campaign first near the deadline, unless its goal is reached, over or not yet counted', () => {
  expect(probability(990, at('2026-11-10T23:00'))).toBe(1);
  expect(probability(1000, at('2026-11-10T23:00'))).toBe(0);
  expect(probability(0, goal.byMs)).toBe(0);
  expect(probability(undefined)).toBe(0);
});

test('a shortfall within random variation causes no alert', () => {
  const behind = (expected: number, delivered: number): boolean =>
    isBehind({
      expected,
      delivered,
      percent: Math.round((100 * delivered) / expected),
      onTrack: delivered >= expected * 0.9,
    });
  expect(behind(5, 1)).toBe(false);
  expect(behind(40, 0)).toBe(true);
  expect(behind(10_000, 8900)).toBe(true);
  expect(behind(10_000, 9100)).toBe(false);
});
