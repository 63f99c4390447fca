import type { Offer, Payout } from '../../src/catalog/types.ts';
import { uniform } from '../../src/decision/random.ts';
import type { DecisionContext } from '../../src/decision/types.ts';
import { campaignOf, offersOf, pays } from '../../test/decision/support.ts';

/** Request properties of a simulated user. */
export type Asker = Partial<DecisionContext> & { custom: ReadonlyMap<string, string> };

/** A seeded world with known truth: its simulated users and their behavior. */
export type World = {
  name: string;
  /** Description of the world for the report. */
  what: string;
  answers: number;
  perSecond: number;
  offers: readonly Offer[];
  /** Number of offers in a response. */
  positions: number;
  /** Probability that an offer at a position is seen; 1 for the first position. */
  examination: readonly number[];
  asker: (at: number) => Asker;
  /** True click rate of an offer (index from 0) that is seen. `conversionRate` is the conversion rate of its clicks. */
  clickRate: (offer: number, asker: Asker, at: number) => number;
  conversionRate: (offer: number) => number;
  /** Time until a click, and from a click to a conversion, in seconds. The argument is a uniform random number. */
  clickDelayS: (u: number) => number;
  conversionDelayS: (u: number) => number;
  /** Index of the first response in which an offer is available. */
  startsAt: (offer: number) => number;
  /** Index of the response from which the rates change. Undefined if the rates don't change. */
  changesAt?: number;
  /** Whether a click at a given time is lost. Times are in milliseconds since the start, here and below. */
  isLost?: (offer: number, atMs: number) => boolean;
  /** Time at which the event of a response becomes known, in milliseconds. */
  knownAtMs?: (atMs: number, at: number) => number;
  /** Whether the learner is paused at a given time. */
  isPaused?: (atMs: number) => boolean;
};

/** Returns a stream of uniform random numbers, with a separate stream for each purpose (`salt`). */
export const uniforms =
  (seed: number) =>
  (salt: number, at: number): number =>
    uniform(seed * 7919 + salt, at);

export const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

const exponential =
  (meanS: number) =>
  (u: number): number =>
    -meanS * Math.log(1 - u);

/** Creates offers with the given payouts. Each offer has its own campaign and advertiser; categories repeat. */
export const paidOffers = (payouts: readonly Payout[]): Offer[] =>
  offersOf(...payouts.map((payout, at) => campaignOf(at + 1, { payout, category: `c${at % 5}` })));

export const cpcOffers = (count: number): Offer[] => paidOffers(Array.from({ length: count }, () => pays('cpc', 1)));

/** Creates a world from properties that override the defaults. */
export const worldOf = (over: Pick<World, 'name' | 'what' | 'offers' | 'clickRate'> & Partial<World>): World => ({
  answers: 20_000,
  perSecond: 100,
  positions: 1,
  examination: [1],
  asker: () => ({ custom: new Map() }),
  conversionRate: () => 0,
  clickDelayS: exponential(5),
  conversionDelayS: exponential(3600),
  startsAt: () => 0,
  ...over,
});
