import { refill, type TokenBucket } from '../../../platform/lib/token-bucket.ts';
import type { Standing } from './claimed.ts';

/** Maximum numbers of calls that may be claimed now. */
export type Allowance = {
  /** Calls to trusted endpoints, and to all others. */
  trusted: number;
  untrusted: number;
  /** Calls to tried endpoints, as a part of `untrusted`. */
  tried: number;
  /** Limit of an endpoint that has never succeeded. */
  perUnproven: number;
  /** Endpoints with calls in flight, and their numbers of calls. */
  busyIds: number[];
  busyCounts: number[];
  /** Busy endpoints with a slow call. They are not trusted, even if the database says so. */
  slowIds: number[];
};

/** Concurrency of one worker. */
export type Concurrency = {
  allowance: () => Allowance;
  /** @param standing as the claim read it @returns a function that ends the use */
  take: (endpointId: number, standing: Standing) => () => void;
  count: () => number;
  /** Milliseconds until a waiting first call allows more calls than the last allowance, or null if none will. */
  nextMs: () => number | null;
};

/** Duration, in milliseconds, after which a call makes its endpoint untrusted until the call ends. */
const slowMs = 1000;
/** Share of the concurrency that untrusted endpoints may use together. */
const untrustedShare = 0.4;
/**
 * Part of that share reserved for untried endpoints, so that hanging endpoints can't block the first call of a new one.
 */
const untriedShare = 1 / 4;
/** While less of that share is in use, an unproven endpoint may use all its calls at once; otherwise only one. */
const unprovenShare = 1 / 8;
/**
 * A first call that takes longer than this (milliseconds) gives its slot to the first call of another endpoint, so that
 * new endpoints that hang don't keep a working one from being tried. At most this many calls wait beyond the
 * concurrency, because each one holds a socket.
 */
const firstCallMs = 250;
const maxWaitingFirst = 32;
/** Exceeds the calls in flight of any endpoint. */
const unlimited = 1000;

type Start = { atMs: number; isFirst: boolean };
type Busy = { trusted: boolean; startsMs: Set<Start> };

/**
 * Shares a worker's concurrency among endpoints: 60 % is reserved for trusted endpoints and 10 % for first calls of new
 * ones, but at least one call if the others have two or more. If the others exceed their 40 %, as when many trusted
 * endpoints hang at once, the excess does not reduce the share of trusted endpoints. In total there are never more
 * calls than twice the concurrency, except for waiting first calls.
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
  /** Start times of first calls, oldest first. */
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
    for (const [endpointId, calls] of busy) {
      const slow = isSlow(calls);
      if (slow) slowIds.push(endpointId);
      if (!slow && calls.trusted) continue;
      untrusted += calls.startsMs.size;
      for (const { isFirst } of calls.startsMs) if (!isFirst) tried += 1;
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
      const calls = busy.get(endpointId) ?? { trusted: true, startsMs: new Set<Start>() };
      const start = { atMs: now(), isFirst: standing === 'untried' };
      calls.trusted = standing === 'trusted';
      calls.startsMs.add(start);
      if (start.isFirst) firstsMs.add(start);
      busy.set(endpointId, calls);
      all += 1;
      return () => {
        if (!calls.startsMs.delete(start)) throw new Error('a call was released twice');
        firstsMs.delete(start);
        all -= 1;
        if (calls.startsMs.size === 0) busy.delete(endpointId);
      };
    },
  };
}

export type RateAllowance = { limitedIds: number[]; limitedCounts: number[] };

/**
 * Keeps endpoints within their rate limits. Only one worker calls an endpoint with a rate limit, so its memory is
 * enough.
 */
export type RateLimiter = {
  /** Known endpoints, and how many calls each may start now. */
  allowance: () => RateAllowance;
  /** Records that a claim had room for a number of calls of an endpoint, to note whether the rate was the limit. */
  observe: (endpointId: number, room: number) => void;
  /** Endpoints that waited for their rate and may be called now. Returns each one once. */
  ready: () => number[];
  /** Records the start of a call. `perS` is the rate of the endpoint, or null without a rate limit. */
  spend: (endpointId: number, perS: number | null) => void;
  /** Milliseconds until a rate-limited endpoint may be called, or null if none waits. */
  nextMs: () => number | null;
};

/** Burst as a fraction of a second's calls, enough to make up for late timers. */
const burstS = 0.1;

/** `offered`: calls it could start at the last claim; `waits`: whether the rate limited that claim. */
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
        // An endpoint that is not in the list may start one call.
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
