import { describe, expect, test } from 'vitest';
import type { CampaignRules } from '../../src/catalog/rules.ts';
import type { Publisher } from '../../src/catalog/types.ts';
import { decide } from '../../src/decision/decide.ts';
import { mix, uniform } from '../../src/decision/random.ts';
import { counts, inputOf, modelOf, offersOf, pays, publisherWith, useOf, withRules } from '../decision/support.ts';

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 10, 23);
const unit = 1_000_000;

/** Traffic curve that returns the number of requests for each minute of the day. */
type Traffic = (minute: number) => number;
const flat: Traffic = () => 40;
const waves: Traffic = (minute) => Math.round(40 - 30 * Math.cos((2 * Math.PI * minute) / 1440));
const spike: Traffic = (minute) => (minute >= 600 && minute < 630 ? 1500 : 40);

type Day = { spent: number; byHour: number[] };

/**
 * Simulates several days of a campaign that pays 0.10 per click, at a click rate of one in ten. Expected spend is
 * reserved, and settled by clicks a minute later, as in the service.
 */
function simulate(rules: CampaignRules, traffic: Traffic, days = 1): Day[] {
  const offers = offersOf(withRules(1, rules, { payout: pays('cpc', 0.1) }));
  const publisher: Publisher = publisherWith(offers);
  const model = modelOf(offers, new Map([[1, counts(100_000, 10_000)]]));
  const result: Day[] = [];
  let lifetime = 0;
  let seed = 0;
  for (let day = 0; day < days; day++) {
    const byHour = new Array<number>(24).fill(0);
    let [spent, reserved, clicked] = [0, 0, 0];
    for (let minute = 0; minute < 1440; minute++) {
      [spent, lifetime, reserved, clicked] = [spent + clicked, lifetime + clicked, 0, 0];
      for (let request = 0; request < traffic(minute); request++) {
        seed += 1;
        const nowMs = startMs + day * dayMs + minute * 60_000;
        const totals = new Map([['1', useOf({ budget: { day: spent + reserved, lifetime: lifetime + reserved } })]]);
        const [offer] = decide(inputOf(publisher, { context: { nowMs }, totals, model, seed: mix(7, seed) })).offers;
        if (offer === undefined) continue;
        reserved += offer.reserveMicros;
        if (uniform(99, seed) >= 0.1) continue;
        clicked += 0.1 * unit;
        byHour[Math.floor(minute / 60)] = (byHour[Math.floor(minute / 60)] as number) + 0.1;
      }
    }
    [spent, lifetime] = [spent + clicked, lifetime + clicked];
    result.push({ spent: spent / unit, byHour });
  }
  return result;
}

const daily = (pacing: 'asap' | 'even' | 'front_loaded', limit = 100): CampaignRules => ({
  pacing,
  total_caps: [{ metric: 'budget', per: 'day', limit }],
});
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

describe('a daily budget of 100', () => {
  for (const [name, traffic] of [
    ['even traffic', flat],
    ['traffic in waves', waves],
    ['a spike of traffic', spike],
  ] as const) {
    for (const pacing of ['even', 'front_loaded'] as const) {
      test(`ends the day within 1% of the budget: ${pacing}, ${name}`, () => {
        const [day] = simulate(daily(pacing), traffic) as [Day];
        expect(day.spent).toBeGreaterThan(99);
        expect(day.spent).toBeLessThan(101);
      });
    }
  }

  test('is spread evenly from midnight, even through a traffic spike', () => {
    for (const traffic of [flat, spike]) {
      const [day] = simulate(daily('even'), traffic) as [Day];
      for (const spent of day.byHour.slice(0, 23)) expect(Math.abs(spent - 100 / 24)).toBeLessThan(2);
    }
  });

  test('is three quarters spent by noon if it is front-loaded', () => {
    const [day] = simulate(daily('front_loaded'), flat) as [Day];
    expect(Math.abs(sum(day.byHour.slice(0, 12)) - 75)).toBeLessThan(3);
  });

  test('is spent at once without pacing, and never exceeded', () => {
    const [day] = simulate(daily('asap'), flat) as [Day];
    expect(sum(day.byHour.slice(0, 5))).toBeGreaterThan(95);
    expect(day.spent).toBeLessThan(101);
  });

  test.each([{ time_zone: 'UTC' }, {}])('is spent within the hours when the campaign runs, %o', (zone) => {
    const rules = {
      ...daily('even', 50),
      schedule: { ...zone, hours: [{ days: [1, 2, 3, 4, 5, 6, 7], from: '08:00', to: '20:00' }] },
    };
    const [day] = simulate(rules, flat) as [Day];
    expect(Math.abs(sum(day.byHour) - 50)).toBeLessThan(1);
    for (const spent of day.byHour.slice(8, 19)) expect(Math.abs(spent - 50 / 12)).toBeLessThan(2);
  });

  test('limits almost no delivery if it exceeds what the traffic can spend', () => {
    const [day] = simulate(daily('even', 10_000), flat) as [Day];
    expect(day.spent).toBeGreaterThan(550); // 57,600 requests, one click of 0.10 per ten requests, few held back
  });
});

test('a lifetime budget is divided among the days to its end, and ends within 1% of it', () => {
  const rules: CampaignRules = {
    pacing: 'even',
    schedule: { start_at: '2026-11-23T00:00:00Z', end_at: '2026-11-26T00:00:00Z' },
    total_caps: [{ metric: 'budget', per: 'lifetime', limit: 150 }],
  };
  const days = simulate(rules, flat, 4).map(({ spent }) => spent);
  for (const spent of days.slice(0, 3)) expect(Math.abs(spent - 50)).toBeLessThan(2);
  expect(days[3]).toBe(0);
  expect(Math.abs(sum(days) - 150)).toBeLessThan(1.5);
});

test('a campaign ahead of its plan is never stopped completely', () => {
  const publisher = publisherWith(offersOf(withRules(1, daily('even'), { payout: pays('cpc', 0.1) })));
  const totals = new Map([['1', useOf({ budget: { day: 90 * unit } })]]);
  const served = Array.from(
    { length: 20_000 },
    (_, seed) => decide(inputOf(publisher, { context: { nowMs: startMs }, totals, seed })).offers.length,
  );
  expect(sum(served)).toBeGreaterThan(50);
  expect(sum(served)).toBeLessThan(200);
});
