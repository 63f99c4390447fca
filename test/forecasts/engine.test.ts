import { expect, test } from 'vitest';
import { competitorOf } from '../../src/forecasts/competitor.ts';
import { calibrate } from '../../src/forecasts/engine/calibrate.ts';
import { forecast } from '../../src/forecasts/engine/forecast.ts';
import { createRandom, type Random } from '../../src/forecasts/engine/random.ts';
import { hoursOf, type Scenario, simulateCourse } from '../../src/forecasts/engine/simulate.ts';
import { fitTraffic } from '../../src/forecasts/engine/traffic.ts';
import type { ForecastCampaign, HourlySessions, SampledSession } from '../../src/forecasts/engine/types.ts';
import { runAtOnce } from '../../src/platform/lib/slices.ts';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { campaignOf, contextOf, modelOf, offersOf, pays, publisherWith } from '../decision/support.ts';

/** Monday, 7 December 2026, 0:00 UTC. */
const startMs = Date.UTC(2026, 11, 7);
const futures = 200;

/** Hours before the start, with sessions by hour of the day and a factor by day. */
const history = (days: number, ofDay: (day: number) => number, ofHour: (hour: number) => number): HourlySessions[] =>
  Array.from({ length: days * 24 }, (_, at) => {
    const day = Math.floor(at / 24) - days;
    return { startMs: startMs + (at - days * 24) * hourMs, sessions: ofDay(day) * ofHour(at % 24) };
  });

function drawnDays(hours: readonly HourlySessions[]): number[][] {
  const traffic = runAtOnce(fitTraffic(hours, { zone: 'UTC', nowMs: startMs, days: 30 }));
  const random = createRandom(1);
  return Array.from({ length: futures }, () => {
    const path = traffic.drawPath(random);
    return Array.from({ length: 30 }, (_, day) =>
      path.slice(day * 24, day * 24 + 24).reduce((sum, value) => sum + value, 0),
    );
  });
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(share * values.length)] as number;
const totals = (paths: readonly number[][]): number[] =>
  paths.map((days) => days.reduce((sum, value) => sum + value, 0));

test('steady traffic is continued with its weekdays', () => {
  const isFree = (day: number): boolean => [5, 6].includes(((day % 7) + 7) % 7);
  const paths = drawnDays(
    history(
      42,
      (day) => (isFree(day) ? 5 : 10),
      () => 1,
    ),
  );
  const median = (day: number): number =>
    quantile(
      paths.map((days) => days[day] as number),
      0.5,
    );
  // Days 5 and 6 are a weekend.
  expect([0, 4, 5, 6, 7].map((day) => Math.round(median(day) / 24))).toEqual([10, 10, 5, 5, 10]);
});

test('a forecast from two days of traffic has a wider interval than one from six weeks', () => {
  const widthOf = (days: number): number => {
    const drawn = totals(
      drawnDays(
        history(
          days,
          () => 10,
          () => 1,
        ),
      ),
    );
    return (quantile(drawn, 0.9) - quantile(drawn, 0.1)) / quantile(drawn, 0.5);
  };
  expect(widthOf(2)).toBeGreaterThan(1.3 * widthOf(42));
  expect(widthOf(42)).toBeGreaterThan(0.05);
});

test('growth goes on for a while, but not forever', () => {
  const drawn = totals(
    drawnDays(
      history(
        42,
        (day) => 100 * Math.exp(0.02 * day),
        () => 1,
      ),
    ),
  );
  const daily = quantile(drawn, 0.5) / 30 / 24;
  expect(daily).toBeGreaterThan(105);
  expect(daily).toBeLessThan(100 * Math.exp(0.02 * 15));
});

test('a single day with little traffic hardly changes the forecast and its interval', () => {
  const drawnFrom = (outageDay: number | null): number[] =>
    totals(
      drawnDays(
        history(
          42,
          (day) => (day === outageDay ? 20 : 100 + (day % 2)),
          () => 1,
        ),
      ),
    );
  const [steady, outage] = [drawnFrom(null), drawnFrom(-5)];
  const widthOf = (drawn: readonly number[]): number => quantile(drawn, 0.9) - quantile(drawn, 0.1);
  expect(quantile(outage, 0.5) / quantile(steady, 0.5)).toBeCloseTo(1, 1);
  expect(widthOf(outage)).toBeLessThan(1.2 * widthOf(steady));
});

test('without any sessions, nothing is expected', () => {
  expect(totals(drawnDays([]))).toEqual(new Array(futures).fill(0));
});

const campaign: ForecastCampaign = {
  id: 1,
  offers: [],
  payout: { kind: 'cpc', amountMicros: 500_000, currency: 'USD' },
  startMs: Number.NEGATIVE_INFINITY,
  endMs: Number.POSITIVE_INFINITY,
  frequencyCaps: [],
  totalCaps: [],
  zone: 'UTC',
  pacing: 'asap',
  optOutDays: null,
  used: () => 0,
  liveSinceMs: null,
  delivered: [],
  recent: { impressions: 0, clicks: 0, conversions: 0 },
};

/** Course with 100 sessions an hour. Every second one becomes an impression, and 10% of these a click. */
function course(
  over: Partial<ForecastCampaign>,
  random: Random | null = null,
  { perSession = 0.5, start = null }: { perSession?: number; start?: Scenario['start'] } = {},
) {
  const planned = { ...campaign, ...over };
  const startsMs = Array.from({ length: 720 }, (_, at) => startMs + at * hourMs);
  const hours = hoursOf(startsMs, planned, () => 1);
  const scenario = {
    perSession,
    start,
    matchingShare: 1,
    clickRate: 0.1,
    conversionRate: 0,
    remainingShare: new Float64Array(30).fill(1),
  };
  return simulateCourse(planned, hours, new Float64Array(720).fill(100), scenario, random);
}
const sum = (values: Float64Array): number => Math.round(values.reduce((total, value) => total + value, 0));

test('a daily budget limits the spend of each day, and is spent at its start unless it is paced', () => {
  const totalCaps = [{ metric: 'budget' as const, per: 'day' as const, limit: 30 }];
  const asap = course({ totalCaps });
  expect(Math.round(asap.spend[3] as number)).toBe(30_000_000);
  expect(sum(asap.impressions) / (30 * 600)).toBeCloseTo(1, 1);
  const even = course({ totalCaps, pacing: 'even' });
  expect(Math.round(even.spend[3] as number)).toBe(30_000_000);
});

const shownPerDay = (over: Partial<ForecastCampaign>, random: Random | null, rates = {}): number => {
  const runs = random === null ? 1 : 40;
  const sums = Array.from({ length: runs }, () => sum(course(over, random, rates).impressions));
  return sums.reduce((total, value) => total + value, 0) / runs / 30;
};
const expectNearly = (value: number, expected: number): void => {
  expect(value).toBeGreaterThan(0.92 * expected);
  expect(value).toBeLessThan(1.08 * expected);
};
const daily = (limit: number) => [{ metric: 'budget' as const, per: 'day' as const, limit }];

test('a campaign stops with the click that uses up its budget', () => {
  // The first click comes after 10 impressions on average. One click costs 0.5.
  expectNearly(shownPerDay({ totalCaps: daily(0.5) }, createRandom(1)), 10);
  expectNearly(shownPerDay({ totalCaps: daily(1.5) }, createRandom(2)), 30);
  expectNearly(shownPerDay({ totalCaps: daily(1.5), pacing: 'even' }, createRandom(3)), 30);
  expect(shownPerDay({ totalCaps: [{ metric: 'impressions', per: 'day', limit: 20 }] }, createRandom(4))).toBe(20);
});

test('the expected spend of a budget over time agrees with the mean of the simulations', () => {
  // Without a budget, the campaign would get 2.4 clicks a day: on some days more than it can pay, on others fewer.
  for (const limit of [0.5, 1, 1.5]) {
    const expected = shownPerDay({ totalCaps: daily(limit) }, null, { perSession: 0.01 });
    const simulated = shownPerDay({ totalCaps: daily(limit) }, createRandom(5), { perSession: 0.01 });
    expectNearly(expected, simulated);
    expect(simulated).toBeLessThan(Math.min(24, limit * 20) * 0.95);
  }
});

test('a budget that cannot pay for a single click allows no impression', () => {
  const totalCaps = [{ metric: 'budget' as const, per: 'lifetime' as const, limit: 0.4 }];
  expect(sum(course({ totalCaps }).impressions)).toBe(0);
});

test('the amount that a running campaign has already spent is subtracted from its budget', () => {
  const totalCaps = [{ metric: 'budget' as const, per: 'lifetime' as const, limit: 100 }];
  expect(sum(course({ totalCaps, used: () => 40_000_000 }).spend)).toBe(60_000_000);
});

test('a campaign is shown only between its start and its end', () => {
  const impressions = course({ startMs: startMs + 2 * dayMs, endMs: startMs + 4.5 * dayMs }).impressions;
  expect([...impressions.slice(0, 6)].map(Math.round)).toEqual([0, 0, 1200, 1200, 600, 0]);
  expect(sum(course({ endMs: startMs - dayMs }).impressions)).toBe(0);
});

test('a new campaign that turns out to be weak is shown until its rates are known', () => {
  const start = { perSession: 0.5, halfKnown: 200 };
  const { impressions } = course({}, null, { perSession: 0, start });
  expect(impressions[0]).toBeGreaterThan(300);
  expect(impressions[29]).toBeLessThan(150);
  // A campaign that wins as often afterwards as at the start is not affected.
  expect(sum(course({}, null, { start }).impressions)).toBe(sum(course({}).impressions));
});

const weekMs = 7 * dayMs;
const perHour = 100;

/** Returns the correction for a campaign with these impressions by week, of 8,400 expected ones. */
function correctionOf(weeks: readonly number[], over: Partial<ForecastCampaign> = {}) {
  const delivered = weeks.map((impressions, at) => {
    const untilMs = startMs - (weeks.length - 1 - at) * weekMs;
    return { fromMs: untilMs - weekMs, untilMs, impressions };
  });
  const central = {
    perSession: 0.5,
    start: null,
    matchingShare: 1,
    clickRate: 0.1,
    conversionRate: 0,
    remainingShare: new Float64Array(30).fill(1),
  };
  const hours = history(
    42,
    () => perHour,
    () => 1,
  );
  return runAtOnce(
    calibrate({ ...campaign, ...over, delivered }, { hours, openShare: () => 1, central, centralSd: 0.2 }),
  );
}
const expectedImpressions = 7 * 24 * 50;
const factorOf = (weeks: readonly number[]): number => Math.exp(correctionOf(weeks)?.mean ?? Number.NaN);

test('the forecast of a running campaign follows what it has delivered', () => {
  expect(factorOf([expectedImpressions, expectedImpressions])).toBeCloseTo(1, 2);
  const half = factorOf([expectedImpressions / 2, expectedImpressions / 2]);
  expect(half).toBeGreaterThan(0.5);
  expect(half).toBeLessThan(0.55);
  // A few impressions prove little.
  expect(factorOf([3])).toBeGreaterThan(0.7 * factorOf([3000]));
  expect(correctionOf([])).toBeNull();
});

test('a campaign whose weeks differ gets a wider interval, and its last weeks count most', () => {
  const [steady, uneven] = [
    [6000, 6000, 6000, 6000],
    [2000, 6000, 3000, 7000],
  ];
  expect(correctionOf(uneven)?.variance).toBeGreaterThan(10 * (correctionOf(steady)?.variance ?? Number.NaN));
  expect(factorOf([2000, 2000, 6000, 6000])).toBeGreaterThan(1.5 * factorOf([6000, 6000, 2000, 2000]));
});

test('changes from the first days of a campaign matter less than those of its last weeks', () => {
  const [settled, unsettled] = [
    correctionOf([2000, 6000, 6000, 6000, 6000]),
    correctionOf([6000, 6000, 6000, 6000, 2000]),
  ];
  expect(settled?.variance).toBeLessThan(0.4 * (unsettled?.variance ?? Number.NaN));
});

test('the week in which a campaign is learned does not widen its interval', () => {
  const weeks = [2000, 6000, 6000, 6000, 6000];
  const liveSinceMs = startMs - weeks.length * weekMs;
  const [isNew, isOld] = [correctionOf(weeks, { liveSinceMs }), correctionOf(weeks, { liveSinceMs: 0 })];
  expect(isNew?.variance).toBeLessThan(0.5 * (isOld?.variance ?? Number.NaN));
});

test('a campaign that its budget limits is not mistaken for one that rarely wins', () => {
  const totalCaps = [{ metric: 'budget' as const, per: 'day' as const, limit: 30 }];
  expect(correctionOf([7 * 600, 7 * 600], { totalCaps })).toBeNull();
});

/** Forecast of a campaign for mobile devices, from 600 sessions of so many users. A third of the users are mobile. */
function forecastFrom(users: number) {
  const [own, ...others] = offersOf(
    ...[1, 2, 3].map((id) => campaignOf(id, { payout: pays('cpm', id === 1 ? 9 : 1) })),
  );
  if (own === undefined) throw new Error('no offer');
  const mobile = { ...own.campaign, rules: { targeting: { devices: { include: ['mobile'] } } } };
  const publisher = publisherWith(others, { offersPerResponse: 1 });
  const draft = {
    campaign: mobile,
    offers: [{ ...own, campaign: mobile }],
    used: () => 0,
    liveSinceMs: null,
    recent: campaign.recent,
    delivered: [],
  };
  const sessions = Array.from({ length: 600 }, (_, at): SampledSession => {
    const user = at % users;
    const device = user % 3 === 0 ? 'mobile' : 'desktop';
    const nowMs = startMs - ((at + 0.5) / 600) * weekMs;
    return {
      context: contextOf({ nowMs, userKey: `user-${user}`, device }),
      themeId: null,
      history: { optOuts: {}, exposures: [] },
      totals: new Map(),
      seed: at,
      isEmptied: false,
      offers: [],
    };
  });
  const hours = history(
    42,
    () => perHour,
    () => 1,
  );
  const competitor = runAtOnce(competitorOf(draft, publisher, { timeZoneOf: () => 'UTC', isRepeated: true }));
  const model = modelOf(others, new Map());
  const sample = { sessions, visits: new Map(), visitDays: 28, hours };
  return runAtOnce(forecast({ ...competitor, ...sample, model, nowMs: startMs, seed: 1, isLate: () => false }));
}

test('a sample with few users gives a wider interval than one with many', () => {
  const widthOf = (users: number): number => {
    const { low, mid, high } = forecastFrom(users).totals.impressions;
    expect(mid).toBeGreaterThan(0);
    return (high - low) / mid;
  };
  expect(widthOf(30)).toBeGreaterThan(1.5 * widthOf(600));
});
