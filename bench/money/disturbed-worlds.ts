import { pays } from '../../test/decision/support.ts';
import { play } from './play.ts';
import type { Policy } from './policies.ts';
import { rankingWorlds } from './ranking-worlds.ts';
import { cpcOffers, paidOffers, uniforms, type World, worldOf } from './world.ts';

/** A simulated world with a goal for the ranking in the second half of a run. */
export type DisturbedWorld = World & {
  /**
   * Target revenue as a share of the best possible revenue, or null for one percentage point less than plain Thompson
   * sampling.
   */
  goal: number | null;
  /** End of the disturbance, in milliseconds since the start of the run. */
  endsMs?: number;
  /** Number of impressions of the best offer after which `bestFirst` is measured. */
  countsAfter?: number;
};

/** Time a ranking has to recover after a disturbance, in milliseconds. */
const recoveryMs = 60_000;

/**
 * Returns worlds in which an earlier ranking stopped showing its best offer.
 * @param answers number of responses in the worlds with ten offers
 */
export function disturbedWorlds(seed: number, answers = 60_000): DisturbedWorld[] {
  const fromMs = (1000 * answers) / 2 / 100;
  const isIn = (lengthMs: number, atMs: number): boolean => atMs >= fromMs && atMs < fromMs + lengthMs;
  const isLost = (_offer: number, atMs: number): boolean => isIn(10_000, atMs);
  const ten = (name: string, meanS: number, goal: number, over: Partial<DisturbedWorld> = {}): DisturbedWorld => ({
    ...tenOffers(seed, { name, answers, clickDelayS: (u) => -meanS * Math.log(1 - u) }),
    goal,
    ...over,
  });
  const plain = rankingWorlds(seed).filter(({ name }) => /^no attributes$|irrelevant/.test(name));
  return [
    ten('clicks after 0.15 s', 0.15, 0.985),
    ten('clicks after 1 s', 1, 0.985),
    ten('events lost for 10 s', 5, 0.975, { isLost, endsMs: fromMs + 10_000 }),
    ten('events lost for 10 s, clicks after 0.15 s', 0.15, 0.975, { isLost, endsMs: fromMs + 10_000 }),
    ten('events delayed for 10 s', 5, 0.975, {
      knownAtMs: (atMs) => (isIn(10_000, atMs) ? fromMs + 10_000 : atMs),
      endsMs: fromMs + 10_000,
    }),
    ten('learner paused for 60 s', 5, 0.975, {
      isPaused: (atMs) => isIn(60_000, atMs),
      endsMs: fromMs + 60_000,
    }),
    newcomer(seed),
    conversions(seed, answers),
    ...plain.map((world) => ({ ...world, goal: null })),
  ];
}

/** Returns the numbers from 0 to count - 1 in an order determined by the seed. */
function shuffled(seed: number, salt: number, count: number): number[] {
  const u = uniforms(seed);
  return Array.from({ length: count }, (_, at) => at).sort((a, b) => u(salt, a) - u(salt, b));
}

const tenOffers = (seed: number, over: Pick<World, 'name'> & Partial<World>): World => {
  const order = shuffled(seed, 1, 10);
  return worldOf({
    what: '10 offers clicked by 1 to 10%, 100 responses per second',
    offers: cpcOffers(10),
    clickRate: (offer) => 0.01 * (1 + (order[offer] as number)),
    ...over,
  });
};

function newcomer(seed: number): DisturbedWorld {
  const u = uniforms(seed);
  const count = 3 + Math.floor(8 * u(1, 0));
  const best = 0.04 * 3 ** u(2, 0);
  const rates = Array.from({ length: count }, (_, offer) => best * (offer === 0 ? 1 : 0.4 + 0.6 * u(3, offer)));
  return {
    ...worldOf({
      name: 'a new offer, 25% better',
      what: '3 to 10 offers, the best clicked by 4 to 12%; a 25% better offer is added after 20,000 responses',
      answers: 40_000,
      offers: cpcOffers(count + 1),
      positions: 2,
      examination: [1, 0.5],
      clickRate: (offer) => rates[offer] ?? best * 1.25,
      startsAt: (offer) => (offer === count ? 20_000 : 0),
    }),
    goal: null,
    countsAfter: 2000,
  };
}

function conversions(seed: number, answers: number): DisturbedWorld {
  const [clicks, converted] = [shuffled(seed, 1, 10), shuffled(seed, 2, 10)];
  return {
    ...worldOf({
      name: 'CPA offers, events 10 s late',
      what: '10 offers clicked by 4 to 13%, of which 10 to 28% convert, after a minute; events arrive 10 s late',
      answers,
      offers: paidOffers(Array.from({ length: 10 }, () => pays('cpa', 10))),
      clickRate: (offer) => 0.01 * (4 + (clicks[offer] as number)),
      conversionRate: (offer) => 0.02 * (5 + (converted[offer] as number)),
      conversionDelayS: (u) => -60 * Math.log(1 - u),
      knownAtMs: (atMs) => atMs + 10_000,
    }),
    goal: null,
  };
}

export type Measured = {
  /**
   * Revenue as a share of the best possible revenue: in the second half of the run, and from one minute after the
   * disturbance on.
   */
  value: number;
  recovered: number;
  /** Share of responses that show the best offer first, and the longest time without such a response, in seconds. */
  bestFirst: number;
  longestS: number;
};

/** Measures a policy in the second half of a run. */
export function measure(world: DisturbedWorld, create: (world: World, seed: number) => Policy, seed: number): Measured {
  const half = { earned: 0, possible: 0 };
  const after = { earned: 0, possible: 0 };
  let [impressions, first, counted, lastMs, longestMs] = [0, 0, 0, 500 * (world.answers / world.perSecond), 0];
  const note: Parameters<typeof play>[3] = ({ atMs, choices, best, earned, possible }) => {
    for (const sums of atMs >= (world.endsMs ?? 0) + recoveryMs ? [half, after] : [half]) {
      sums.earned += earned;
      sums.possible += possible;
    }
    const isFirst = choices[0] === best[0];
    longestMs = Math.max(longestMs, atMs - lastMs);
    if (isFirst) lastMs = atMs;
    if (choices.includes(best[0] as number)) impressions += 1;
    if (impressions <= (world.countsAfter ?? 0)) return;
    counted += 1;
    if (isFirst) first += 1;
  };
  play(world, create(world, seed), seed, note, world.answers / 2);
  return {
    value: half.earned / half.possible,
    recovered: after.earned / after.possible,
    bestFirst: first / Math.max(1, counted),
    longestS: longestMs / 1000,
  };
}
