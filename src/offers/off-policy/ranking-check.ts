import type pg from 'pg';
import { dayMs, minuteMs } from '../../platform/lib/time.ts';
import type { Alternative } from './alternatives.ts';
import { type Estimate, estimateOther } from './estimate.ts';
import { observe } from './observe.ts';

/** Estimated earnings of another ranking in the last days. */
export type RankingCheck = Estimate & { fromMs: number; toMs: number };

/** Computes a check. Results are cached for some minutes, and computed one at a time. */
export type CheckRanking = (publisherId: number, other: Alternative) => Promise<RankingCheck>;

/** How far back sessions are evaluated (days): as long as decisions are stored. */
const checkedDays = 7;

const keptMs = 10 * minuteMs;
/** Maximum number of cached results. */
const maxKept = 100;

export function createRankingCheck({ pool, now }: { pool: pg.Pool; now: () => number }): CheckRanking {
  const cache = new Map<string, { untilMs: number; result: Promise<RankingCheck> }>();
  let last: Promise<unknown> = Promise.resolve();

  async function check(publisherId: number, other: Alternative): Promise<RankingCheck> {
    const toMs = now();
    const fromMs = toMs - checkedDays * dayMs;
    const observed = await observe(pool, { publisherId, other, sinceMs: fromMs, nowMs: toMs });
    return { ...estimateOther(observed), fromMs, toMs };
  }

  return (publisherId, other) => {
    const key = [publisherId, other.ranking, other.campaignId].join();
    const cached = cache.get(key);
    if (cached !== undefined && cached.untilMs > now()) return cached.result;
    const result = last.then(() => check(publisherId, other));
    last = result.catch(() => cache.delete(key));
    cache.delete(key);
    cache.set(key, { untilMs: now() + keptMs, result });
    for (const oldest of cache.keys()) if (cache.size > maxKept) cache.delete(oldest);
    return result;
  };
}
