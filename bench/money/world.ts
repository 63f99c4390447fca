import type { Offer, Payout } from '../../src/catalog/types.ts';
import { uniform } from '../../src/decision/random.ts';
import type { DecisionContext } from '../../src/decision/types.ts';
import { campaignOf, offersOf, pays } from '../../test/decision/support.ts';

/** A requesting user: properties of the request. */
export type Asker = Partial<DecisionContext> & { custom: ReadonlyMap<string, string> };

/** A seeded world with known truth: its users, and their behavior. */
export type World = {
  name: string;
  /** Description of the world for skeptical readers. */
  what: string;
  answers: number;
  perSecond: number;
  offers: readonly Offer[];
  /** Number of offers in an answer. */
  positions: number;
  /** Probability that an offer at a position is seen; 1 for the first. */
  examination: readonly number[];
  asker: (at: number) => Asker;
  /** True click rate of an offer (from 0) that is seen, and conversion rate of its clicks. */
  clickRate: (offer: number, asker: Asker, at: number) => number;
  conversionRate: (offer: number) => number;
  /** Seconds until a click, and from there to a conversion, from a uniform number. */
  clickDelayS: (u: number) => number;
  conversionDelayS: (u: number) => number;
  /** First answer in which an offer takes part. */
  startsAt: (offer: number) => number;
  /** Answer from which the rates change; undefined if they don't. */
  changesAt?: number;
  /** Whether a click is lost, by its time (milliseconds since the start, as below). */
  isLost?: (offer: number, atMs: number) => boolean;
  /** Time when an event of an answer becomes known. */
  knownAtMs?: (atMs: number, at: number) => number;
  /** Whether the learner pauses. */
  isPaused?: (atMs: number) => boolean;
};

/** A stream of uniform numbers, separate for each purpose (`salt`). */
export const uniforms =
  (seed: number) =>
  (salt: number, at: number): number =>
    uniform(seed * 7919 + salt, at);

export const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

const exponential =
  (meanS: number) =>
  (u: number): number =>
    -meanS * Math.log(1 - u);

/** Offers of separate campaigns, advertisers and categories by default. */
export const paidOffers = (payouts: readonly Payout[]): Offer[] =>
  offersOf(...payouts.map((payout, at) => campaignOf(at + 1, { payout, category: `c${at % 5}` })));

export const cpcOffers = (count: number): Offer[] => paidOffers(Array.from({ length: count }, () => pays('cpc', 1)));

/** Creates a world from its differences to the default. */
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
