import { expect, test } from 'vitest';
import { compileGoal } from '../../../src/budgets/goals.ts';
import type { Campaign } from '../../../src/catalog/types.ts';
import { decide } from '../../../src/decision/decide.ts';
import { mix } from '../../../src/decision/random.ts';
import { apiReason } from '../../../src/offers/fetch/reason-text.ts';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { campaignOf, explainAtOnce, inputOf, noonMs, offersOf, pays, publisherWith } from '../support.ts';

/** Goal of 1,000 impressions in ten days, five of which have passed. */
const goal = { metric: 'impressions', count: 1000, sinceMs: noonMs - 5 * dayMs, byMs: noonMs + 5 * dayMs } as const;

const withGoal = (over: Partial<Campaign> = {}): Campaign => campaignOf(3, { payout: pays('cpm', 1), goal, ...over });
const others = [campaignOf(1, { payout: pays('cpm', 500) }), campaignOf(2, { payout: pays('cpm', 400) })];

const inputWith = (campaign: Campaign, delivered: number, seed = 1) =>
  inputOf(publisherWith(offersOf(...others, campaign)), { totals: new Map([['3', { goal: delivered }]]), seed });

const order = (input: ReturnType<typeof inputWith>): number[] => decide(input).offers.map(({ offer }) => offer.id);

test('a campaign behind its goal comes before better paid ones of the same priority, but only once', () => {
  expect(order(inputWith(withGoal(), 100))).toEqual([3, 1, 2]);
});

test('a campaign at its plan, ahead of it or after the end of its goal competes by revenue', () => {
  expect(order(inputWith(withGoal(), 520))).toEqual([1, 2, 3]);
  expect(order(inputWith(withGoal({ goal: { ...goal, byMs: noonMs } }), 100))).toEqual([1, 2, 3]);
  expect(order(inputWith(withGoal({ goal: null }), 100))).toEqual([1, 2, 3]);
});

test('a campaign slightly behind its goal comes first in some decisions, depending on the seed', () => {
  const seeds = Array.from({ length: 2000 }, (_, run) => mix(7, run));
  const first = seeds.filter((seed) => order(inputWith(withGoal(), 500, seed))[0] === 3).length / seeds.length;
  expect(first).toBeGreaterThan(0.2);
  expect(first).toBeLessThan(0.6);
  expect(order(inputWith(withGoal(), 500, 5))).toEqual(order(inputWith(withGoal(), 500, 5)));
});

test('a campaign behind its goal stays below higher priorities, above weights, and within its own rules', () => {
  const [first, second] = others;
  const urgent = inputOf(publisherWith(offersOf({ ...first, priority: 1 } as Campaign, withGoal())), {
    totals: new Map([['3', { goal: 100 }]]),
  });
  expect(order(urgent)).toEqual([1, 3]);
  const unpaid = inputOf(
    publisherWith(offersOf(campaignOf(1, { weight: 900 }), withGoal({ payout: pays('cpm', 0) }))),
    {
      totals: new Map([['3', { goal: 100 }]]),
    },
  );
  expect(order(unpaid)).toEqual([3, 1]);
  const elsewhere = { targeting: { countries: { include: ['FR'] } } };
  const capped = { total_caps: [{ metric: 'impressions' as const, per: 'lifetime' as const, limit: 100 }] };
  expect(order(inputWith(withGoal({ rules: elsewhere }), 100))).toEqual([1, 2]);
  const used = inputOf(publisherWith(offersOf(second as Campaign, withGoal({ rules: capped }))), {
    totals: new Map([['3', { goal: 100, impressions: { lifetime: 100 } }]]),
  });
  expect(order(used)).toEqual([2]);
});

test("the explanation states that the offer is shown for its campaign's goal", () => {
  const [explanation] = explainAtOnce(inputWith(withGoal(), 100));
  expect(explanation).toMatchObject({ position: 1, rule: null });
  expect(apiReason(explanation?.reason as NonNullable<typeof explanation>['reason'])).toBe(
    'Shown at position 1, ahead of offers with higher revenue, because the campaign is behind its goal: 100 of 500 ' +
      'impressions planned so far.',
  );
});

test('a goal is compared with the total of its campaign across all publishers', () => {
  expect(compileGoal(3, goal, 'UTC')).toMatchObject({ key: '3', zone: 'UTC', count: 1000 });
});

test('an unreachable goal takes no delivery away from a reachable one', () => {
  const day = { sinceMs: noonMs - dayMs / 2, byMs: noonMs + dayMs / 2 };
  const impossible = campaignOf(1, {
    payout: pays('cpc', 9),
    goal: { metric: 'clicks', count: 3000, ...day },
  });
  const possible = campaignOf(2, { payout: pays('cpc', 1), goal: { metric: 'clicks', count: 40, ...day } });
  const publisher = publisherWith(offersOf(impossible, possible));
  const firstAt = (nowMs: number, delivered: number): number =>
    order(
      inputOf(publisher, {
        context: { nowMs },
        totals: new Map([
          ['1', { goal: 0 }],
          ['2', { goal: delivered }],
        ]),
      }),
    )[0] as number;
  expect(firstAt(noonMs, 10)).toBe(2);
  expect(firstAt(noonMs, 22)).toBe(1);
  expect(firstAt(day.byMs - 60_000, 30)).toBe(2);
});

test('the goal that gains more from an impression comes first if two goals have equal counts', () => {
  const goals = { metric: 'clicks', count: 1000, sinceMs: goal.sinceMs, byMs: goal.byMs } as const;
  const conversions = { ...goals, metric: 'conversions' } as const;
  const publisher = publisherWith(
    offersOf(campaignOf(1, { payout: pays('cpa', 9), goal: conversions }), campaignOf(2, { goal: goals })),
  );
  const totals = new Map([1, 2].map((id) => [String(id), { goal: 100 }]));
  expect(order(inputOf(publisher, { totals }))).toEqual([2, 1]);
});
