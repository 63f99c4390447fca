import { type Bits, countBits, hasBit, nextBit } from '../index/bitset.ts';
import type { Candidate } from '../index/compile.ts';
import type { EligibilityIndex } from '../index/eligibility.ts';
import type { DecisionInput } from '../types.ts';
import { salts, uniform } from './random.ts';
import { drawnOf, isPooled, pooledSeed } from './sampled-ranking.ts';
import { drawScore, type Estimate, type Ranking, rankingOf } from './scores.ts';
import { Leaders } from './top-k.ts';

/** The share of decisions in which one offer, picked evenly, goes before those that draw higher. */
export const exploredShare = 0.01;

/** A candidate that nothing shuts out; `estimate` and `run` null: nothing pays among its equals. */
export type Contender = {
  candidate: Candidate;
  score: number;
  estimate: Estimate | null;
  run: PaidRun | null;
  /** The chance that it is put first without regard to its draw. */
  exploredChance: number;
};

/**
 * Survivors of equal force and priority that compete by expected revenue. Kept for all requests with the same
 * survivors.
 */
export type PaidRun = {
  ranking: Ranking;
  /** Who of the ranking survived, and how many. */
  bits: Bits;
  survivors: number;
  /** Places of the ranking to look at, in order: those of the survivors, or all, where most survived. */
  places: Int32Array;
};

const known = new WeakMap<Bits, WeakMap<Ranking, PaidRun>>();

function runOf(ranking: Ranking, bits: Bits, from: number, to: number): PaidRun {
  let runs = known.get(bits);
  if (runs === undefined) {
    runs = new WeakMap();
    known.set(bits, runs);
  }
  let run = runs.get(ranking);
  if (run === undefined) {
    const survivors = countBits(bits, from, to);
    run = { ranking, bits, survivors, places: placesOf(ranking, bits, { from, to, survivors }) };
    runs.set(ranking, run);
  }
  return run;
}

/** From this many candidates of a class for each survivor on, survivors are few. */
const sparse = 16;

/** Few survivors of a large class are found by their bits rather than by passing all the others. */
function placesOf(
  ranking: Ranking,
  bits: Bits,
  { from, to, survivors }: { from: number; to: number; survivors: number },
): Int32Array {
  if (survivors * sparse > ranking.order.length) return ranking.everyPlace;
  const found = new Int32Array(survivors);
  let at = from - 1;
  for (let count = 0; count < survivors; count++) {
    at = nextBit(bits, at + 1, to);
    found[count] = ranking.placeOf[at - from] as number;
  }
  return found.sort();
}

type PaidRunOptions = {
  index: EligibilityIndex;
  bits: Bits;
  input: DecisionInput;
  classNo: number;
  from: number;
  to: number;
  mayExplore: boolean;
};

/**
 * Survivors of a class by expected revenue as drawn, highest first: of a large class first those that its draw
 * remembers.
 * Then only those are drawn that can still lead: they are taken by the highest score they could draw, until the best so
 * far
 * cannot be beaten.
 */
export function createPaidRun({
  index,
  bits,
  input,
  classNo,
  from,
  to,
  mayExplore,
}: PaidRunOptions): () => Contender | null {
  const { publisher, context, posteriors, seed } = input;
  const ranking = rankingOf(index, classNo, { publisherId: publisher.id, placement: context.placement }, posteriors);
  const { order, bounds, estimates, draws } = ranking;
  const run = runOf(ranking, bits, from, to);
  const { survivors, places } = run;
  const explores = mayExplore && survivors > 0;
  const exploredChance = explores ? exploredShare / survivors : 0;
  const pooled = isPooled(survivors, order.length);
  const drawSeed = pooled ? pooledSeed(seed, context.nowMs) : seed;
  const drawn = pooled ? drawnOf(ranking, drawSeed, context.nowMs) : null;
  let nextDrawn = 0;
  /** For who comes after those that the draw remembers, mostly nobody. */
  let leaders: Leaders | null = null;
  const explored = explores && uniform(seed, salts.explore) < exploredShare ? pickEvenly() : -1;
  let isExploredDue = explored !== -1;
  let next = 0;

  /** The place in the ranking of any survivor. */
  function pickEvenly(): number {
    let at = nextBit(bits, from, to);
    for (let left = Math.floor(uniform(seed, salts.explored) * survivors); left > 0; left--)
      at = nextBit(bits, at + 1, to);
    return ranking.placeOf[at - from] as number;
  }

  const takesPart = (place: number): boolean => place !== explored && hasBit(bits, order[place] as number);

  const contender = (place: number, score: number): Contender => ({
    candidate: index.candidates[order[place] as number] as Candidate,
    score,
    estimate: estimates[place] as Estimate,
    run,
    exploredChance,
  });

  function startLeaders(): Leaders {
    const found = new Leaders();
    if (drawn !== null) found.skipTo(drawn.places.at(-1) as number, drawn.scores.at(-1) as number);
    return found;
  }

  function lookAgain(among: Leaders): void {
    among.lookAgain();
    for (let at = 0; at < next; at++) {
      const place = places[at] as number;
      if (takesPart(place)) among.addAgain(place, drawScore(draws, place, drawSeed));
    }
  }

  function nextLeader(among: Leaders): Contender | null {
    for (; next < places.length; next++) {
      const place = places[next] as number;
      if (among.top > (bounds[place] as number)) break;
      if (takesPart(place)) among.addAgain(place, drawScore(draws, place, drawSeed));
    }
    if (among.mustLookAgain) lookAgain(among);
    const score = among.top;
    const place = among.take();
    return place === -1 ? null : contender(place, score);
  }

  return () => {
    if (isExploredDue) {
      isExploredDue = false;
      return contender(explored, drawScore(draws, explored, drawSeed));
    }
    if (drawn !== null && nextDrawn < drawn.places.length) {
      while (nextDrawn < drawn.places.length) {
        const place = drawn.places[nextDrawn] as number;
        const score = drawn.scores[nextDrawn++] as number;
        if (takesPart(place)) return contender(place, score);
      }
    }
    leaders ??= startLeaders();
    return nextLeader(leaders);
  };
}
