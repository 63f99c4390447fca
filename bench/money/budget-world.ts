import type { CampaignRules } from '../../src/catalog/rules.ts';
import type { Payout } from '../../src/catalog/types.ts';

/** A simulated campaign with a limit, and users with known behavior, on a simulated clock. */
export type BudgetWorld = {
  name: string;
  /** Description of the world for the report. */
  what: string;
  payout: { kind: Payout['kind']; amount: number };
  rules: (startMs: number) => CampaignRules;
  goal?: (startMs: number) => object;
  /** Hour (UTC) at which the campaign is created and the first user comes, counted from midnight. */
  startHour: number;
  seconds: number;
  /** Simulation step, in seconds. All events of a step happen at the same time. */
  stepS: number;
  /** Number of processes that handle requests in rotation, on one database. */
  processes: number;
  /** Expected number of users per second. A fractional part is the probability of one more user. */
  asks: (second: number) => number;
  clickRate: number;
  /** Conversion rate per click. */
  conversionRate: number;
  /** Time until a click, and from a click to a conversion, in seconds. The argument is a uniform random number. */
  clickDelayS: (u: number) => number;
  conversionDelayS: (u: number) => number;
  /** Fraction of the limit that the plan has used by a given second. Absent if there is no plan. */
  plan?: (second: number) => number;
  /** Second from which usage is compared with the plan. Traffic is learned before that. */
  plannedFromS?: number;
};

const between =
  (least: number, most: number) =>
  (u: number): number =>
    least + (most - least) * u;

const exponential =
  (meanS: number) =>
  (u: number): number =>
    5 - meanS * Math.log(1 - u);

const hourS = 3600;
const dayS = 24 * hourS;

const worldOf = (over: Pick<BudgetWorld, 'name' | 'what' | 'rules'> & Partial<BudgetWorld>): BudgetWorld => ({
  payout: { kind: 'cpc', amount: 0.5 },
  startHour: 9,
  seconds: 600,
  stepS: 1,
  processes: 1,
  asks: () => 1,
  clickRate: 1,
  conversionRate: 0,
  clickDelayS: between(5, 60),
  conversionDelayS: between(5, 60),
  ...over,
});

const budget =
  (limit: number, per: 'day' | 'lifetime' = 'lifetime') =>
  (): CampaignRules => ({
    total_caps: [{ metric: 'budget', per, limit }],
  });

/** Returns a traffic curve with `count` users in the first second, then one user per second. */
const burst =
  (count: number) =>
  (second: number): number =>
    second === 0 ? count : 1;

/** Traffic curve with two peaks, at 9:00 and 20:00, and no users from 3:00 to 4:00. */
const humps = (hour: number): number =>
  hour >= 3 && hour < 4 ? 0 : 0.01 + 0.09 * (Math.exp(-((hour - 9) ** 2) / 8) + Math.exp(-((hour - 20) ** 2) / 8));

const perDay = Array.from({ length: 24 * 60 }, (_, minute) => humps(minute / 60)).reduce((a, b) => a + b, 0);
const humpsUntil = (second: number): number => {
  const minute = Math.floor((second % dayS) / 60);
  return Array.from({ length: minute }, (_, at) => humps(at / 60)).reduce((a, b) => a + b, 0) / perDay;
};

const busy = {
  asks: () => 25,
  clickRate: 0.1,
  seconds: 900,
  clickDelayS: exponential(15),
} as const;

export const budgetWorlds: readonly BudgetWorld[] = [
  worldOf({
    name: 'cpc, 64 users at once',
    what: 'budget 20.00 at 0.50; 64 users at once, then one per second; all click',
    rules: budget(20),
    asks: burst(64),
  }),
  worldOf({ name: 'cpc, 200 users at once', what: 'the same with 200 users', rules: budget(20), asks: burst(200) }),
  worldOf({
    name: 'cpa, 200 users at once',
    what: 'budget 20.00 at 0.50 per conversion; 200 users at once, then one per second; all click and convert',
    payout: { kind: 'cpa', amount: 0.5 },
    rules: budget(20),
    asks: burst(200),
    conversionRate: 1,
  }),
  worldOf({
    name: 'one user after another',
    what: 'budget 5.00 at 0.50; one user per second, all click',
    rules: budget(5),
  }),
  worldOf({
    name: '10% click',
    what: 'budget 20.00 at 0.50; 25 users per second, 10% click, after 20 s on average',
    ...busy,
    rules: budget(20),
  }),
  worldOf({
    name: 'no clicks',
    what: 'budget 5.00 at 0.50; 10 users per second, no clicks',
    rules: budget(5),
    asks: () => 10,
    clickRate: 0,
    seconds: 300,
  }),
  worldOf({
    name: 'daily budget of 100.00',
    what: '100.00 per day at 0.50; 25 users per second, 10% click, after 20 s on average',
    ...busy,
    rules: budget(100, 'day'),
  }),
  worldOf({
    name: 'lifetime budget of 400.00',
    what: 'budget 400.00 at 0.50; 40 users per second, 10% click, after 20 s on average',
    ...busy,
    asks: () => 40,
    rules: budget(400),
  }),
  worldOf({
    name: 'two processes',
    what: 'as “10% click”, served by two processes alternately',
    ...busy,
    rules: budget(20),
    processes: 2,
  }),
  worldOf({ name: 'four processes', what: 'the same with four processes', ...busy, rules: budget(20), processes: 4 }),
  worldOf({
    name: 'conversions after an hour',
    what:
      'budget 50.00 at 2.00 per conversion; a user every 4 s for 6 hours, 20% click, 20% of them convert after ' +
      'an hour on average',
    payout: { kind: 'cpa', amount: 2 },
    rules: budget(50),
    stepS: 20,
    seconds: 6 * hourS,
    asks: () => 0.25,
    clickRate: 0.2,
    conversionRate: 0.2,
    conversionDelayS: exponential(hourS),
  }),
  worldOf({
    name: 'even, created at 11:41',
    what:
      '600 impressions per day, even; the campaign is created at 11:41 without a start; a user every 10 s until ' +
      'midnight',
    rules: () => ({ pacing: 'even', total_caps: [{ metric: 'impressions', per: 'day', limit: 600 }] }),
    startHour: 11 + 41 / 60,
    seconds: 12 * hourS + 19 * 60,
    stepS: 20,
    asks: () => 0.1,
    clickRate: 0,
    plan: (second) => second / (12 * hourS + 19 * 60),
  }),
  worldOf({
    name: 'even, lifetime cap with an end',
    what: '600 impressions in total, even, without a start, until 24 hours after creation; a user every 20 s',
    rules: (startMs) => ({
      pacing: 'even',
      schedule: { end_at: new Date(startMs + dayS * 1000).toISOString() },
      total_caps: [{ metric: 'impressions', per: 'lifetime', limit: 600 }],
    }),
    startHour: 11 + 41 / 60,
    seconds: dayS,
    stepS: 60,
    asks: () => 0.05,
    clickRate: 0,
    plan: (second) => second / dayS,
  }),
  worldOf({
    name: 'even, two peaks and an idle hour',
    what: '400 impressions per day, even; traffic with two peaks, none from 3 to 4; the third day is compared',
    rules: () => ({ pacing: 'even', total_caps: [{ metric: 'impressions', per: 'day', limit: 400 }] }),
    startHour: 0,
    seconds: 3 * dayS,
    stepS: 120,
    clickRate: 0,
    plannedFromS: 2 * dayS,
    asks: (second) => humps((second % dayS) / hourS) / 3,
    plan: humpsUntil,
  }),
  worldOf({
    name: 'goal next to a better paid campaign',
    what:
      'goal of 500 clicks in 2 hours at 0.01 per click, next to a campaign at 10.00 per thousand; one user per ' +
      'second, 10% click',
    payout: { kind: 'cpc', amount: 0.01 },
    rules: () => ({}),
    goal: (startMs) => ({ metric: 'clicks', count: 500, by: new Date(startMs + 2 * hourS * 1000).toISOString() }),
    stepS: 5,
    seconds: 2 * hourS,
    clickRate: 0.1,
    plan: (second) => second / (2 * hourS),
  }),
];
