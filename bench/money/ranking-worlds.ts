import type { Payout } from '../../src/catalog/types.ts';
import { pays } from '../../test/decision/support.ts';
import { type Asker, cpcOffers, logistic, paidOffers, uniforms, type World, worldOf } from './world.ts';

/** Returns worlds in which only the order of the offers matters. */
export const rankingWorlds = (seed: number): World[] => [
  twoDevices(seed),
  attributes(seed, {
    name: 'two of eight attributes matter',
    what: '5 offers, 8 attributes with 3 values; two of them have effects on the log-odds N(0, 1); base rate 5%',
    offers: 5,
    keys: 8,
    values: 3,
    effect: (key) => (key < 2 ? 1 : 0),
  }),
  attributes(seed, {
    name: '36 attributes matter a little',
    what: '6 offers, 36 attributes with 2 values, effects on the log-odds N(0, 0.2²); base rate 5%',
    offers: 6,
    keys: 36,
    values: 2,
    effect: () => 0.2,
    answers: 40_000,
  }),
  attributes(seed, {
    name: '16 attributes, 26 offers',
    what: '26 offers, 16 attributes with 2 values, effects on the log-odds N(0, 0.3²); base rate 5%',
    offers: 26,
    keys: 16,
    values: 2,
    effect: () => 0.3,
    answers: 40_000,
  }),
  pairs(seed),
  attributes(seed, {
    name: '40 irrelevant attributes',
    what: '5 offers with different rates (log-odds N(-3, 0.4²)), 40 attributes with 3 values and no effect',
    offers: 5,
    keys: 40,
    values: 3,
    effect: () => 0,
    spread: 0.4,
  }),
  attributes(seed, {
    name: 'no attributes',
    what: '5 offers with different rates (log-odds N(-3, 0.4²)), no attributes',
    offers: 5,
    keys: 0,
    values: 2,
    effect: () => 0,
    spread: 0.4,
  }),
  newcomer(seed),
  swap(seed),
  manyOffers(seed),
  payouts(seed),
  lateConversions(seed),
];

/** World with two offers: phone users click one of them, desktop users the other. */
const twoDevices = (seed: number): World => {
  const u = uniforms(seed);
  return worldOf({
    name: 'two devices',
    what: '2 offers; on phones, 12% click A and 2% click B, on desktops vice versa; half of the users have phones',
    answers: 10_000,
    offers: cpcOffers(2),
    asker: (at) =>
      u(1, at) < 0.5
        ? { device: 'mobile', os: 'android', platform: 'android', custom: new Map() }
        : { device: 'desktop', os: 'windows', platform: 'web', custom: new Map() },
    clickRate: (offer, { device }) => ((device === 'mobile') === (offer === 0) ? 0.12 : 0.02),
  });
};

type Attributes = Pick<World, 'name' | 'what'> & {
  offers: number;
  keys: number;
  values: number;
  /** Standard deviation of the effects of an attribute on the log-odds. */
  effect: (key: number) => number;
  /** Standard deviation of the offers' base log-odds. */
  spread?: number;
  answers?: number;
};

function attributes(
  seed: number,
  { name, what, offers, keys, values, effect, spread = 0.2, answers = 20_000 }: Attributes,
): World {
  const u = uniforms(seed);
  const normal = (salt: number, at: number): number =>
    Math.sqrt(-2 * Math.log(1 - u(salt, at))) * Math.cos(2 * Math.PI * u(salt + 1, at));
  const base = Array.from({ length: offers }, (_, offer) => -3 + spread * normal(10, offer));
  const effects = Array.from({ length: keys * values * offers }, (_, at) => normal(20, at));
  const effectOf = (offer: number, key: number, value: number): number =>
    effect(key) * (effects[(offer * keys + key) * values + value] as number);
  return worldOf({
    name,
    what,
    answers,
    offers: cpcOffers(offers),
    asker: (at) => ({
      custom: new Map(
        Array.from({ length: keys }, (_, key) => [`a${key}`, String(Math.floor(u(100 + key, at) * values))]),
      ),
    }),
    clickRate: (offer, { custom }) => {
      let logOdds = base[offer] as number;
      for (let key = 0; key < keys; key++)
        if (effect(key) !== 0) logOdds += effectOf(offer, key, Number(custom.get(`a${key}`)));
      return logistic(logOdds);
    },
  });
}

/** World with two attributes that are only informative in combination. */
function pairs(seed: number): World {
  const u = uniforms(seed);
  const bit = (asker: Asker, key: string): boolean => asker.custom.get(key) === '1';
  return worldOf({
    name: 'attributes that matter only in pairs',
    what: '2 offers; A is clicked by 8% if two attributes are equal, otherwise by 4%; B vice versa',
    offers: cpcOffers(2),
    asker: (at) => ({ custom: new Map(['x', 'y'].map((key, k) => [key, u(1 + k, at) < 0.5 ? '1' : '0'])) }),
    clickRate: (offer, asker) => ((bit(asker, 'x') === bit(asker, 'y')) === (offer === 0) ? 0.08 : 0.04),
  });
}

/**
 * World in which an offer that is 25% better than the best one appears late. Responses have two positions; the second
 * is seen half as often.
 */
const newcomer = (seed: number): World => {
  const rates = [0.06, 0.05, 0.04, 0.075];
  void seed;
  return worldOf({
    name: 'a new offer, 25% better',
    what:
      '4 offers with 6, 5, 4 and 7.5%; the last is added after 20,000 responses; 2 positions, the second is seen ' +
      'by half',
    answers: 30_000,
    offers: cpcOffers(4),
    positions: 2,
    examination: [1, 0.5],
    clickRate: (offer) => rates[offer] as number,
    startsAt: (offer) => (offer === 3 ? 20_000 : 0),
  });
};

const swap = (seed: number): World => {
  const rates = [0.08, 0.05, 0.03, 0.02];
  const changesAt = 15_000;
  void seed;
  return worldOf({
    name: 'rates swap halfway',
    what: '4 offers with 8, 5, 3 and 2%; in the opposite order after 15,000 responses',
    answers: 30_000,
    changesAt,
    offers: cpcOffers(4),
    clickRate: (offer, _asker, at) => rates[at < changesAt ? offer : 3 - offer] as number,
  });
};

function manyOffers(seed: number): World {
  const u = uniforms(seed);
  return worldOf({
    name: '1,000 offers, few responses',
    what: '1,000 offers of 1,000 campaigns in 5 categories, log-odds N(-3.5, 0.5²) per offer; 30 responses per offer',
    answers: 30_000,
    offers: cpcOffers(1000),
    clickRate: (offer) =>
      logistic(-3.5 + 0.5 * Math.sqrt(-2 * Math.log(1 - u(1, offer))) * Math.cos(2 * Math.PI * u(2, offer))),
  });
}

function payouts(seed: number): World {
  const u = uniforms(seed);
  const kinds: Payout[] = [
    ...[pays('cpc', 0.4), pays('cpc', 0.6), pays('cpa', 6), pays('cpa', 9), pays('cpm', 20), pays('cpm', 26)],
  ];
  return worldOf({
    name: 'cpc, cpa and cpm together',
    what:
      '6 offers at 0.40 and 0.60 per click, 6.00 and 9.00 per conversion, 20.00 and 26.00 per thousand; clicks ' +
      '3 to 8% by device, conversions 6 and 8%, after a minute on average',
    offers: paidOffers(kinds),
    asker: (at) => ({ device: u(1, at) < 0.5 ? 'mobile' : 'desktop', custom: new Map() }),
    clickRate: (offer, { device }) => 0.03 + 0.05 * u(device === 'mobile' ? 2 : 3, offer),
    conversionRate: (offer) => (offer % 2 === 0 ? 0.08 : 0.06),
    conversionDelayS: (v) => -60 * Math.log(1 - v),
  });
}

function lateConversions(seed: number): World {
  const u = uniforms(seed);
  return worldOf({
    name: 'conversions after hours',
    what:
      '6 offers paid by conversion (2 to 10% of clicks, clicks 3 to 8%), 2 hours after the click on average; ' +
      '2 responses per second, 6 hours',
    answers: 43_200,
    perSecond: 2,
    offers: paidOffers(Array.from({ length: 6 }, () => pays('cpa', 10))),
    clickRate: (offer) => 0.03 + 0.05 * u(1, offer),
    conversionRate: (offer) => 0.02 + 0.08 * u(2, offer),
    conversionDelayS: (v) => -7200 * Math.log(1 - v),
  });
}
