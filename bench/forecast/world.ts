import type { CampaignRules } from '../../src/catalog/rules.ts';
import type { Campaign } from '../../src/catalog/types.ts';
import { normalQuantile } from '../../src/decision/random.ts';
import type { DecisionContext } from '../../src/decision/types.ts';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { campaignOf, pays } from '../../test/decision/support.ts';
import { logistic, uniforms } from '../money/world.ts';

/** Visit of a simulated user. */
export type Visit = { atMs: number; user: number; placement: string };

/** Seeded world with known truth: traffic, users, campaigns and behavior. */
export type ForecastWorld = {
  what: string;
  /** Number of days before the forecast. */
  historyDays: number;
  offersPerResponse: number;
  visits: readonly Visit[];
  contextOf: (visit: Visit) => Partial<DecisionContext>;
  /** All campaigns. The last one is forecast. */
  campaigns: readonly Campaign[];
  /** Whether the forecast campaign has already been shown in the past. */
  isRunning: boolean;
  viewRate: (position: number) => number;
  clickRate: (campaign: number, visit: Visit, position: number) => number;
  conversionRate: (campaign: number) => number;
  declineRate: number;
};

/** Start of the forecast period. */
export const startMs = Date.UTC(2026, 5, 10, 9);
const truthDays = 30;
const countries = ['DE', 'AT', 'CH', 'FR', 'NL', 'GB', 'US'];
const devices = ['mobile', 'desktop', 'tablet'];

type WorldOptions = {
  /** Range of the mean number of sessions a day. Budgets grow with it. */
  sessionsPerDay?: readonly [from: number, to: number];
  /** Number of the future. Futures of a world share its history and expected values, but not their random numbers. */
  future?: number;
  /** Whether a new campaign has a different click rate in this future, drawn from the same distribution. */
  isRateUnknown?: boolean;
};

/** Generates a world from broad priors. The same seed and options always give the same world. */
export function forecastWorld(
  seed: number,
  { sessionsPerDay = [150, 1000], future = 0, isRateUnknown = false }: WorldOptions = {},
): ForecastWorld {
  const u = uniforms(seed + 77_000_017);
  const pick = (salt: number): number => u(salt, 0);
  const normal = (salt: number, at = 0): number => normalQuantile(u(salt, at) + 2 ** -33);
  const logUniform = (salt: number, from: number, to: number): number => from * (to / from) ** pick(salt);
  const historyDays = pick(1) < 0.2 ? Math.round(logUniform(2, 8, 21)) : 42;
  const perDay = logUniform(3, ...sessionsPerDay);
  const growth = 0.004 * normal(4);
  const waveSize = pick(5) < 0.4 ? 0.15 * pick(6) : 0;
  const waveDays = logUniform(7, 20, 90);
  const wavePhase = 2 * Math.PI * pick(80);
  const noise = logUniform(8, 0.02, 0.15);
  const wander = logUniform(9, 0.002, 0.02);
  const weekend = Math.exp(0.4 * normal(10));
  const weekdays = Array.from({ length: 7 }, (_, day) => Math.exp(0.1 * normal(11, day)) * (day >= 5 ? weekend : 1));
  const peaks = [6 + 8 * pick(12), 15 + 8 * pick(13)] as const;
  const hourly = Array.from(
    { length: 24 },
    (_, hour) =>
      0.1 + Math.exp(-((hour - peaks[0]) ** 2) / 8) + 2 * pick(14) * Math.exp(-((hour - peaks[1]) ** 2) / 10),
  );
  const ofHours = hourly.reduce((sum, value) => sum + value, 0);

  const anonymous = pick(15) < 0.5 ? 0 : 0.4 * pick(16);
  const meanVisits = logUniform(17, 1.1, 8);
  const lifeDays = logUniform(18, 3, 200);
  const visits: Visit[] = [];
  let wandered = 0;
  const active: { id: number; untilMs: number; placement: number }[] = [];
  let users = 1;
  let draws = 0;
  for (let day = -historyDays; day < truthDays; day++) {
    const drawn = day + 1000 + (day < 0 ? 0 : future * 10_000);
    if (day === 0) [draws, users] = [draws + future * 10_000_000, users + future * 10_000_000];
    wandered += wander * normal(19, drawn);
    const isOdd = u(20, drawn) < 0.015;
    const wave = waveSize * Math.sin((2 * Math.PI * day) / waveDays + wavePhase);
    const mean =
      perDay *
      (weekdays[(((day + 2) % 7) + 7) % 7] as number) *
      Math.exp(growth * day + wandered + wave + noise * normal(21, drawn)) *
      (isOdd ? 0.3 + 1.7 * u(22, drawn) : 1);
    for (let hour = 0; hour < 24; hour++) {
      const expected = (mean * (hourly[(hour + 9) % 24] as number)) / ofHours;
      const count = Math.max(0, Math.round(expected + Math.sqrt(expected) * normal(23, drawn * 24 + hour)));
      for (let at = 0; at < count; at++) {
        const draw = draws++;
        const atMs = startMs + day * dayMs + (hour + (at + u(24, draw)) / count) * hourMs;
        if (u(25, draw) < anonymous) {
          visits.push({ atMs, user: -1 - draw, placement: u(26, draw) < 0.7 ? 'checkout' : 'account' });
          continue;
        }
        const isNew = active.length === 0 || u(27, draw) < 1 / meanVisits;
        let index = Math.floor(u(28, draw) ** 1.5 * active.length);
        if (isNew) {
          const life = -lifeDays * Math.log(1 - u(29, draw)) * dayMs;
          index = active.push({ id: users++, untilMs: atMs + life, placement: u(30, draw) }) - 1;
        }
        const user = active[index] as (typeof active)[number];
        visits.push({ atMs, user: user.id, placement: user.placement < 0.7 ? 'checkout' : 'account' });
        if (user.untilMs < atMs) {
          active[index] = active.at(-1) as (typeof active)[number];
          active.pop();
        }
      }
    }
  }

  const spread = countries.map((_, at) => Math.exp(normal(31, at)));
  const ofCountries = spread.reduce((sum, value) => sum + value, 0);
  const countryOf = (user: number): string => {
    let remaining = u(32, user) * ofCountries;
    for (const [at, country] of countries.entries()) {
      remaining -= spread[at] as number;
      if (remaining < 0) return country;
    }
    return 'DE';
  };
  const deviceOf = (user: number): string => devices[Math.floor(u(33, user) ** 1.5 * 3)] as string;
  const plans = ['basic', 'plus', 'pro'];
  const planOf = (user: number): string => plans[Math.floor(u(34, user) * 3)] as string;

  const count = Math.round(logUniform(40, 6, 60));
  const baseRate = logUniform(41, 0.02, 0.3);
  const isRunning = pick(42) < 0.5;
  const campaigns: Campaign[] = [];
  const logits: number[] = [];
  const rateSpread = logUniform(43, 0.1, 0.6);
  for (let at = 0; at <= count; at++) {
    const isOwn = at === count;
    const kindDraw = u(44, at);
    const kind = kindDraw < 0.55 ? 'cpc' : kindDraw < 0.85 ? 'cpm' : 'cpa';
    const logit =
      Math.log(baseRate / (1 - baseRate)) +
      rateSpread * normal(45, isOwn && isRateUnknown && !isRunning ? at + future * 1000 : at);
    logits.push(logit);
    const value = Math.exp(0.5 * normal(46, at) + (isOwn ? 0.5 + 0.35 * Math.log(count / 6) : 0));
    const amount = kind === 'cpm' ? value * 1000 * baseRate * 0.5 : kind === 'cpc' ? value * 0.5 : value * 5;
    campaigns.push(
      campaignOf(at + 1, {
        payout: pays(kind, Number(amount.toFixed(2))),
        optOutDays: 30,
        activatedAtMs: at === count && !isRunning ? startMs : startMs - historyDays * dayMs,
        rules: rulesOf(at, isOwn, amount, kind),
      }),
    );
  }

  function rulesOf(at: number, isOwn: boolean, amount: number, kind: string): CampaignRules {
    const rules: CampaignRules = {};
    const targeting: NonNullable<CampaignRules['targeting']> = {};
    if (u(50, at) < 0.4)
      targeting.countries = { include: countries.filter((_, country) => u(51, at * 10 + country) < 0.5) };
    if (targeting.countries?.include?.length === 0) targeting.countries = { include: ['DE', 'FR'] };
    if (u(52, at) < 0.2) targeting.devices = { include: [u(53, at) < 0.6 ? 'mobile' : 'desktop'] };
    if (u(54, at) < 0.2) targeting.placements = { include: ['checkout'] };
    if (Object.keys(targeting).length > 0) rules.targeting = targeting;
    if (u(55, at) < 0.15) rules.conditions = { key: 'plan', op: 'in', value: ['plus', 'pro'] };
    if (u(56, at) < (isOwn ? 0.5 : 0.25))
      rules.frequency_caps = [
        {
          scope: 'campaign',
          event: 'impression',
          limit: 1 + Math.floor(4 * u(57, at)),
          window_minutes: u(58, at) < 0.5 ? 1440 : 7 * 1440,
        },
      ];
    const perClick = kind === 'cpm' ? amount / 1000 : amount * (kind === 'cpa' ? 0.05 * 0.1 : baseRate);
    const dailyWorth = perDay * 0.15 * perClick;
    if (u(59, at) < (isOwn ? 0.5 : 0.3)) {
      const isDaily = u(60, at) < 0.7;
      const limit = dailyWorth * (isDaily ? 1 : 20) * Math.exp(normal(61, at)) * (isOwn ? 1.5 : 1);
      rules.total_caps = [{ metric: 'budget', per: isDaily ? 'day' : 'lifetime', limit: Math.max(amount, limit) }];
      if (!isOwn && !isDaily)
        rules.total_caps = [{ metric: 'budget', per: 'day', limit: Math.max(amount, limit / 10) }];
      if (u(62, at) < 0.35) rules.pacing = 'even';
    }
    if (isOwn && u(63, at) < 0.15)
      rules.schedule = { end_at: new Date(startMs + (5 + 25 * u(64, at)) * dayMs).toISOString() };
    if (isOwn && u(65, at) < 0.15)
      rules.schedule = {
        ...rules.schedule,
        hours: [{ days: [1, 2, 3, 4, 5], from: '08:00', to: '20:00' }],
      };
    return rules;
  }

  const positions = 1 + Math.floor(3 * pick(70));
  const viewDrop = 0.3 + 0.7 * pick(71);
  const clickDrop = 0.4 + 0.6 * pick(72);
  const deviceEffect = 0.5 * pick(73);
  const declineRate = pick(74) < 0.3 ? 0.15 * pick(75) : 0;
  return {
    what:
      `${Math.round(perDay)} sessions a day, ${historyDays} days, ${count} others, ` +
      `${isRunning ? 'running' : 'new'} ${campaigns.at(-1)?.payout.kind}, ` +
      `rates ${(100 * baseRate).toFixed(0)}% ± ${rateSpread.toFixed(2)}, ${positions} positions, ` +
      `${meanVisits.toFixed(1)} visits, ${JSON.stringify(campaigns.at(-1)?.rules)}`,
    historyDays,
    offersPerResponse: positions,
    visits,
    contextOf: ({ user, placement, atMs }) => ({
      placement,
      device: deviceOf(user),
      geo: { country: countryOf(user), region: null, city: null, postalCode: null, timeZone: null },
      custom: new Map([['plan', planOf(user)]]),
      userKey: user < 0 ? null : `user-${user}`,
      nowMs: atMs,
    }),
    campaigns,
    isRunning,
    viewRate: (position) => (position === 1 ? 0.95 : 0.95 * viewDrop ** (position - 1)),
    clickRate: (campaign, { user }, position) =>
      logistic(
        (logits[campaign] as number) + (deviceOf(user) === 'mobile' ? deviceEffect : -deviceEffect) * (campaign % 3),
      ) *
      clickDrop ** (position - 1),
    conversionRate: (campaign) => 0.02 + 0.2 * u(76, campaign),
    declineRate,
  };
}
