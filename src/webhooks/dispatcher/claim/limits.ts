import { refill, type TokenBucket } from '../../../platform/lib/token-bucket.ts';
import type { Standing } from './claimed.ts';

/** How much may be claimed now (counts). */
export type Allowance = {
  /** Calls to trusted endpoints, and to all others. */
  trusted: number;
  untrusted: number;
  /** Of those to all others, to endpoints that were tried. */
  tried: number;
  /** Limit of an endpoint that has never succeeded. */
  perUnproven: number;
  /** Endpoints with calls in flight, and how many. */
  busyIds: number[];
  busyCounts: number[];
  /** Those of them with a slow call: not trusted, even if the database says so. */
  slowIds: number[];
};

/** The calls in flight in one worker. */
export type Concurrency = {
  allowance: () => Allowance;
  /** @param standing as the claim read it @returns ends the use */
  take: (endpointId: number, standing: Standing) => () => void;
  count: () => number;
  /** Milliseconds until a first call, by waiting, allows more than was allowed last; null: none will. */
  nextMs: () => number | null;
};

/** A call that takes longer makes its endpoint untrusted until it ends (milliseconds). */
const slowMs = 1000;
/** The share of the concurrency that untrusted endpoints may use together. */
const untrustedShare = 0.4;
/** Of that, what is kept for endpoints that were never tried: others that hang keep none from its first call. */
const untriedShare = 1 / 4;
/** While less of that share is in use, an unproven endpoint gets all its calls at once, else one. */
const unprovenShare = 1 / 8;
/**
 * A first call that takes longer (milliseconds) leaves its place to the first call of another endpoint, so that new
 * ones that hang keep none that works from being tried before their deadline. So many do (count): beyond the
 * concurrency, but each costs a socket that waits.
 */
const firstCallMs = 250;
const maxWaitingFirst = 32;
/** More calls than any endpoint may have in flight (count). */
const unlimited = 1000;

type Start = { atMs: number; isFirst: boolean };
type Busy = { trusted: boolean; startsMs: Set<Start> };

/**
 * Shares a worker's concurrency among endpoints: 60 % is reserved for trusted ones, 10 % for the first calls of new
 * ones, at least one call where the others have two or more. Calls beyond the 40 % of the
 * others, as when many trusted endpoints hang at once, do not count against the trusted either; all together there are
 * never more than twice the concurrency, but for first calls that wait.
 */
export function createConcurrency(total: number, now: () => number): Concurrency {
  const busy = new Map<number, Busy>();
  const reserve = Math.max(1, Math.floor(total * untrustedShare));
  const triedReserve = Math.max(1, reserve - Math.max(1, Math.floor(reserve * untriedShare)));
  const isSlow = ({ startsMs }: Busy): boolean => {
    const [oldest] = startsMs;
    return oldest !== undefined && now() - oldest.atMs >= slowMs;
  };
  let all = 0;
  /** When each first call of an endpoint began, the oldest first. */
  const firstsMs = new Set<Start>();
  let askedMs = 0;
  const countWaiting = (): number => {
    let count = 0;
    for (const { atMs } of firstsMs) {
      if (count === maxWaitingFirst || askedMs - atMs < firstCallMs) break;
      count += 1;
    }
    return count;
  };
  const countUntrusted = (): { untrusted: number; tried: number; slowIds: number[] } => {
    const slowIds: number[] = [];
    let untrusted = 0;
    let tried = 0;
    for (const [endpointId, one] of busy) {
      const slow = isSlow(one);
      if (slow) slowIds.push(endpointId);
      if (!slow && one.trusted) continue;
      untrusted += one.startsMs.size;
      for (const { isFirst } of one.startsMs) if (!isFirst) tried += 1;
    }
    return { untrusted, tried, slowIds };
  };
  const roomOf = (untrusted: number, others: number): number =>
    Math.min(total - (others - untrusted) - Math.min(untrusted, reserve), 2 * total - others);
  return {
    count: () => all,
    allowance: () => {
      const { untrusted, tried, slowIds } = countUntrusted();
      askedMs = now();
      const waiting = countWaiting();
      const free = roomOf(untrusted, all);
      const freeBeside = roomOf(untrusted - waiting, all - waiting);
      return {
        trusted: Math.max(freeBeside, 0),
        untrusted: Math.max(Math.min(reserve - untrusted + waiting, freeBeside), 0),
        tried: Math.max(Math.min(reserve - untrusted, triedReserve - tried, free), 0),
        perUnproven: untrusted < reserve * unprovenShare ? unlimited : 1,
        busyIds: [...busy.keys()],
        busyCounts: [...busy.values()].map(({ startsMs }) => startsMs.size),
        slowIds,
      };
    },
    nextMs: () => {
      const waiting = countWaiting();
      if (waiting === maxWaitingFirst || countUntrusted().untrusted - waiting < reserve) return null;
      const next = [...firstsMs][waiting];
      return next === undefined ? null : Math.max(1, next.atMs + firstCallMs - now());
    },
    take: (endpointId, standing) => {
      const one = busy.get(endpointId) ?? { trusted: true, startsMs: new Set<Start>() };
      const start = { atMs: now(), isFirst: standing === 'untried' };
      one.trusted = standing === 'trusted';
      one.startsMs.add(start);
      if (start.isFirst) firstsMs.add(start);
      busy.set(endpointId, one);
      all += 1;
      return () => {
        if (!one.startsMs.delete(start)) throw new Error('a call was released twice');
        firstsMs.delete(start);
        all -= 1;
        if (one.startsMs.size === 0) busy.delete(endpointId);
      };
    },
  };
}

export type RateAllowance = { limitedIds: number[]; limitedCounts: number[] };

/** Keeps endpoints to their rate limits. Only one worker calls such an endpoint, so its memory is enough. */
export type RateLimiter = {
  /** Known endpoints, and how many calls each may start now. */
  allowance: () => RateAllowance;
  /** A claim had room for so many calls of an endpoint: notes whether the rate was the limit. */
  observe: (endpointId: number, room: number) => void;
  /** Endpoints that waited for their rate and may be called now. Each is named once. */
  ready: () => number[];
  /** A call starts. `perS` is the endpoint's rate; null where it has none. */
  spend: (endpointId: number, perS: number | null) => void;
  /** Milliseconds until a rate-limited endpoint may be called; null: none is. */
  nextMs: () => number | null;
};

/** Burst, as a part of a second's calls: enough to make up for late timers. */
const burstS = 0.1;

/** `offered`: calls it could start at the last claim (count); `waits`: it got no more because of that. */
type Bucket = TokenBucket & { perS: number; offered: number; waits: boolean };

export function createRateLimiter(now: () => number): RateLimiter {
  const buckets = new Map<number, Bucket>();
  const burstOf = (perS: number): number => Math.max(1, perS * burstS);
  const fill = (bucket: Bucket): void => refill(bucket, { perS: bucket.perS, burst: burstOf(bucket.perS) }, now());

  return {
    allowance: () => {
      for (const [endpointId, bucket] of buckets) {
        fill(bucket);
        bucket.offered = Math.max(0, Math.floor(bucket.tokens));
        // An endpoint that is not listed may start one call.
        if (bucket.tokens === burstOf(bucket.perS) && !bucket.waits) buckets.delete(endpointId);
      }
      return { limitedIds: [...buckets.keys()], limitedCounts: [...buckets.values()].map(({ offered }) => offered) };
    },
    observe: (endpointId, room) => {
      const bucket = buckets.get(endpointId);
      if (bucket !== undefined) bucket.waits = room === bucket.offered;
    },
    ready: () => {
      const endpointIds: number[] = [];
      for (const [endpointId, bucket] of buckets) {
        fill(bucket);
        if (!bucket.waits || bucket.tokens < 1) continue;
        bucket.waits = false;
        endpointIds.push(endpointId);
      }
      return endpointIds;
    },
    spend: (endpointId, perS) => {
      if (perS === null) return void buckets.delete(endpointId);
      const bucket = buckets.get(endpointId) ?? { perS, tokens: 1, atMs: now(), offered: 1, waits: false };
      bucket.perS = perS;
      fill(bucket);
      bucket.tokens -= 1;
      buckets.set(endpointId, bucket);
    },
    nextMs: () => {
      let nearestMs: number | null = null;
      for (const { perS, tokens, atMs } of buckets.values()) {
        const waitMs = ((1 - tokens) / perS) * 1000 - (now() - atMs);
        if (tokens < 1) nearestMs = Math.min(nearestMs ?? waitMs, waitMs);
      }
      return nearestMs === null ? null : Math.max(1, Math.ceil(nearestMs));
    },
  };
}
