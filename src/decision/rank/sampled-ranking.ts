import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { mix, salts } from './random.ts';
import { drawScore, type Ranking } from './scores.ts';
import { Leaders } from './top-k.ts';

/** The best of one draw of a whole class, best first. */
export type Drawn = { places: Int32Array; scores: Float64Array };

/*
 * Where hundreds compete and little is known yet, nearly all must be drawn to know who leads: 15 µs of a request's 150.
 * Large
 * classes are therefore drawn from a pool: in each minute by 1,024 seeds, and a decision's own seed says which. So
 * draws are
 * shared by the requests of a minute, and still are what the seed and the time say, nothing else.
 */
const poolSize = 1024;
const poolMs = 60_000;

/** From this many survivors on a class is large. */
const large = 128;

/**
 * The best that are remembered of a draw of so many; who wants more draws again (count). Of very large classes few may
 * survive.
 */
const remembered = (size: number): number => Math.min(size, 256, Math.max(64, Math.floor(size / 20)));

/** Places remembered over all draws (count): about 6 MB. */
const maxKept = 524_288;

/** Whether survivors are drawn from the pool: many of them, and enough of their class to be among its leaders. */
export const isPooled = (survivors: number, size: number): boolean => survivors >= large && survivors * 16 >= size;

const minuteOf = (nowMs: number): number => Math.floor(nowMs / poolMs);

/** The seed of the pool that stands for a decision's own. */
export const pooledSeed = (seed: number, nowMs: number): number =>
  mix(minuteOf(nowMs), salts.pool + (seed & (poolSize - 1)));

let keptMinute = -1;
let keptCount = 0;
let kept = new Map<Ranking, Map<number, Drawn>>();

/**
 * The leaders of a class as a seed of the pool draws them; looked up where another decision of this minute has drawn
 * them.
 */
export function drawnOf(ranking: Ranking, pooled: number, nowMs: number): Drawn {
  const minute = minuteOf(nowMs);
  if (minute < keptMinute) return draw(ranking, pooled); // a decision of the past, replayed
  if (minute > keptMinute || keptCount >= maxKept) {
    keptMinute = minute;
    keptCount = 0;
    kept = new Map();
  }
  return getOrInsert(
    getOrInsert(kept, ranking, () => new Map<number, Drawn>()),
    pooled,
    () => {
      const drawn = draw(ranking, pooled);
      keptCount += drawn.places.length;
      return drawn;
    },
  );
}

function draw({ bounds, draws }: Ranking, seed: number): Drawn {
  const count = remembered(bounds.length);
  const leaders = new Leaders(count);
  for (let place = 0; place < bounds.length && leaders.bar <= (bounds[place] as number); place++) {
    leaders.add(place, drawScore(draws, place, seed));
  }
  const places = new Int32Array(count);
  const scores = new Float64Array(count);
  for (let at = 0; at < count; at++) {
    scores[at] = leaders.top;
    places[at] = leaders.take();
  }
  return { places, scores };
}
