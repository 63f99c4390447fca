import type { Offer, Payout } from '../../src/catalog/types.ts';
import { uniform } from '../../src/decision/random.ts';
import type { DecisionContext } from '../../src/decision/types.ts';
import { campaignOf, offersOf, pays } from '../../test/decision/support.ts';

/** A user who asks: properties of the request. */
export type Asker = Partial<DecisionContext> & { custom: ReadonlyMap<string, string> };

/** A seeded world of which all is known: who asks, and what they would do. */
export type World = {
  name: string;
  /** What it is made of, for a reader who wants to doubt it. */
  what: string;
  answers: number;
  perSecond: number;
  offers: readonly Offer[];
  /** Offers of an answer. */
  positions: number;
  /** How likely an offer at a position is looked at; the first is 1. */
  examination: readonly number[];
  asker: (at: number) => Asker;
  /** True click rate of an offer (from 0) that is looked at, and conversion rate of its clicks. */
  clickRate: (offer: number, asker: Asker, at: number) => number;
  conversionRate: (offer: number) => number;
  /** Seconds until a click, and from there until a conversion, from a uniform number. */
  clickDelayS: (u: number) => number;
  conversionDelayS: (u: number) => number;
  /** The first answer in which an offer takes part. */
  startsAt: (offer: number) => number;
  /** The answer from which on rates are others; undefined: they stay. */
  changesAt?: number;
  /** Whether a click is lost, by its time (milliseconds since the start, as in what follows). */
  isLost?: (offer: number, atMs: number) => boolean;
  /** When an event of an answer is known. */
  knownAtMs?: (atMs: number, at: number) => number;
  /** Whether the learner pauses. */
  isPaused?: (atMs: number) => boolean;
};

/** A stream of uniform numbers: one for each purpose (`salt`) and each count. */
export const uniforms =
  (seed: number) =>
  (salt: number, at: number): number =>
    uniform(seed * 7919 + salt, at);

export const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

const exponential =
  (meanS: number) =>
  (u: number): number =>
    -meanS * Math.log(1 - u);

/** Offers of campaigns of their own, of advertisers and categories of their own unless said. */
export const paidOffers = (payouts: readonly Payout[]): Offer[] =>
  offersOf(...payouts.map((payout, at) => campaignOf(at + 1, { payout, category: `c${at % 5}` })));

export const cpcOffers = (count: number): Offer[] => paidOffers(Array.from({ length: count }, () => pays('cpc', 1)));

/** A world of which only what differs is said. */
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
