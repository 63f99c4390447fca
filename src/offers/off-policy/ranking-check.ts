import type pg from 'pg';
import { dayMs, minuteMs } from '../../platform/lib/time.ts';
import type { Alternative } from './alternatives.ts';
import { type Estimate, estimateOther } from './estimate.ts';
import { observe } from './observe.ts';

/** What another ranking would have earned in the last days. */
export type RankingCheck = Estimate & { fromMs: number; toMs: number };

/** Asks for it; results are kept for some minutes, and computed one at a time. */
export type CheckRanking = (publisherId: number, other: Alternative) => Promise<RankingCheck>;

/** How far back sessions are looked at (days): decisions are kept as long. */
const checkedDays = 7;

const keptMs = 10 * minuteMs;
/** Results that are kept (count). */
const maxKept = 100;

export function createRankingCheck({ pool, now }: { pool: pg.Pool; now: () => number }): CheckRanking {
  const kept = new Map<string, { untilMs: number; result: Promise<RankingCheck> }>();
  let last: Promise<unknown> = Promise.resolve();

  async function check(publisherId: number, other: Alternative): Promise<RankingCheck> {
    const toMs = now();
    const fromMs = toMs - checkedDays * dayMs;
    const observed = await observe(pool, { publisherId, other, sinceMs: fromMs, nowMs: toMs });
    return { ...estimateOther(observed), fromMs, toMs };
  }

  return (publisherId, other) => {
    const key = [publisherId, other.ranking, other.campaignId].join();
    const known = kept.get(key);
    if (known !== undefined && known.untilMs > now()) return known.result;
    const result = last.then(() => check(publisherId, other));
    last = result.catch(() => kept.delete(key));
    kept.delete(key);
    kept.set(key, { untilMs: now() + keptMs, result });
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest);
    return result;
  };
}
