import { type Bits, countBits, hasBit, nextBit } from './bitset.ts';
import type { Candidate } from './compile.ts';
import { drawnOf, isPooled, pooledSeed } from './drawn.ts';
import type { EligibilityIndex } from './eligibility.ts';
import { Leaders } from './leaders.ts';
import { salts, uniform } from './random.ts';
import { drawScore, type Estimate, type Ranking, rankingOf } from './scores.ts';
import type { DecisionInput } from './types.ts';

/** The share of decisions in which one offer, picked evenly, goes before those that draw higher. */
export const exploredShare = 0.01;

/** A candidate that nothing shuts out; `estimate` and `run` null: nothing pays among its equals. */
export type Contender = { candidate: Candidate; score: number; estimate: Estimate | null; run: PaidRun | null };

/** Survivors of equal force and priority that compete by expected revenue. */
export type PaidRun = {
  ranking: Ranking;
  /** Who of the ranking survived, and how many. */
  bits: Bits;
  survivors: number;
  /** Places of the ranking to look at, in order: those of the survivors, or all, where most survived. */
  places: Int32Array;
  /** The chance that an offer is put first without regard to its draw. */
  exploredChance: number;
};

/** From this many candidates of a class for each survivor on, survivors are few. */
const sparse = 16;

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
 * Survivors of a class by expected revenue as drawn, highest first: of a large class first those that its draw remembers.
 * Then only those are drawn that can still lead: they are taken by the highest score they could draw, until the best so far
 * cannot be beaten.
 */
export function createPaidRun({ index, bits, input, classNo, from, to, mayExplore }: PaidRunOptions): () => Contender | null {
  const { publisher, context, posteriors, seed } = input;
  const ranking = rankingOf(index, classNo, { publisherId: publisher.id, placement: context.placement }, posteriors);
  const { order, bounds, estimates, draws } = ranking;
  const survivors = countBits(bits, from, to);
  const explores = mayExplore && survivors > 0;
  const places = placesOf();
  const run: PaidRun = { ranking, bits, survivors, places, exploredChance: explores ? exploredShare / survivors : 0 };
  const pooled = isPooled(survivors, order.length);
  const drawSeed = pooled ? pooledSeed(seed, context.nowMs) : seed;
  const drawn = pooled ? drawnOf(ranking, drawSeed, context.nowMs) : null;
  let nextDrawn = 0;
  const leaders = new Leaders();
  const explored = explores && uniform(seed, salts.explore) < exploredShare ? pickEvenly() : -1;
  let isExploredDue = explored !== -1;
  let next = 0;

  /** The place in the ranking of any survivor. */
  function pickEvenly(): number {
    let at = nextBit(bits, from, to);
    for (let left = Math.floor(uniform(seed, salts.explored) * survivors); left > 0; left--) at = nextBit(bits, at + 1, to);
    return ranking.placeOf[at - from] as number;
  }

  /** Few survivors of a large class are found by their bits rather than by passing all the others. */
  function placesOf(): Int32Array {
    if (survivors * sparse > order.length) return ranking.everyPlace;
    const found = new Int32Array(survivors);
    let at = from - 1;
    for (let count = 0; count < survivors; count++) {
      at = nextBit(bits, at + 1, to);
      found[count] = ranking.placeOf[at - from] as number;
    }
    return found.sort();
  }

  const takesPart = (place: number): boolean => place !== explored && hasBit(bits, order[place] as number);

  function lookAgain(): void {
    leaders.lookAgain();
    for (let at = 0; at < next; at++) {
      const place = places[at] as number;
      if (takesPart(place)) leaders.addAgain(place, drawScore(draws, place, drawSeed));
    }
  }

  const contender = (place: number, score: number): Contender => ({
    candidate: index.candidates[order[place] as number] as Candidate,
    score,
    estimate: estimates[place] as Estimate,
    run,
  });

  return () => {
    if (isExploredDue) {
      isExploredDue = false;
      return contender(explored, drawScore(draws, explored, drawSeed));
    }
    if (drawn !== null && nextDrawn <= drawn.places.length) {
      for (; nextDrawn < drawn.places.length; nextDrawn++) {
        const place = drawn.places[nextDrawn] as number;
        if (takesPart(place)) return contender(place, drawn.scores[nextDrawn++] as number);
      }
      nextDrawn += 1;
      leaders.skipTo(drawn.places.at(-1) as number, drawn.scores.at(-1) as number);
    }
    for (; next < places.length; next++) {
      const place = places[next] as number;
      if (leaders.top > (bounds[place] as number)) break;
      if (takesPart(place)) leaders.addAgain(place, drawScore(draws, place, drawSeed));
    }
    if (leaders.mustLookAgain) lookAgain();
    const score = leaders.top;
    const place = leaders.take();
    return place === -1 ? null : contender(place, score);
  };
}
