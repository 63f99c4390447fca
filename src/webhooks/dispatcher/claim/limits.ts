import { refill, type TokenBucket } from '../../../platform/lib/token-bucket.ts';
import type { Standing } from './claimed.ts';

/** Maximum numbers of calls for which a worker may claim deliveries now. */
export type Allowance = {
  /** Maximum number of calls to all trusted endpoints. `untrusted` is the same for untrusted endpoints. */
  trusted: number;
  untrusted: number;
  /** Maximum number of calls to tried endpoints. These calls also count towards `untrusted`. */
  tried: number;
  /** Maximum number of calls to each endpoint that has never succeeded. */
  perUnproven: number;
  /** IDs of endpoints with calls in flight, with the number of calls for each. */
  busyIds: number[];
  busyCounts: number[];
  /**
   * IDs of endpoints with a slow call in flight. They are not treated as trusted, regardless of their standing in the
   * database.
   */
  slowIds: number[];
};

/** Tracks the concurrent calls of one worker. */
export type Concurrency = {
  allowance: () => Allowance;
  /**
   * Reserves capacity for a call.
   * @param standing standing of the endpoint, as read by the claim
   * @returns a function that releases the capacity
   */
  take: (endpointId: number, standing: Standing) => () => void;
  count: () => number;
  /**
   * Returns the time until a slow first call releases its slot to another endpoint, in milliseconds. Returns null if no
   * slot will be released.
   */
  nextMs: () => number | null;
};

/**
 * Duration in milliseconds after which a call makes its endpoint count as untrusted. This lasts until the call ends.
 */
const slowMs = 1000;
/** Share of the concurrency that untrusted endpoints may use in total. */
const untrustedShare = 0.4;
/**
 * Part of the untrusted share that is reserved for untried endpoints, so that hanging endpoints cannot block the first
 * call to a new endpoint.
 */
const untriedShare = 1 / 4;
/**
 * Threshold for the use of the untrusted share. While usage is below it, an unproven endpoint may use its full
 * concurrency. Above it, an unproven endpoint may have only one call at a time.
 */
const unprovenShare = 1 / 8;
/**
 * Time after which a pending first call gives its slot to the first call of another endpoint, in milliseconds. This
 * prevents new endpoints that hang from blocking the first call to a working one. `maxWaitingFirst` limits the number
 * of calls that have given up their slot, because each one holds a socket in addition to the concurrency.
 */
const firstCallMs = 250;
const maxWaitingFirst = 32;
/** Value that is higher than the number of concurrent calls to any endpoint. */
const unlimited = 1000;

type Start = { atMs: number; isFirst: boolean };
type Busy = { trusted: boolean; startsMs: Set<Start> };

/**
 * Divides the concurrency of a worker:
 * - 60% of the concurrency is reserved for trusted endpoints.
 * - 10% is reserved for first calls to new endpoints, with a minimum of one call if the other endpoints have two or
 *   more.
 * - If untrusted endpoints exceed their 40%, for example when many trusted endpoints start to hang at once, the excess
 *   does not reduce the trusted share.
 * - The total never exceeds twice the concurrency, except for pending first calls that have released their slots.
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
  /** Start times of first calls in flight, oldest first. */
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
 * Enforces the rate limits of endpoints. An endpoint with a rate limit is called by only one worker, so the state of
 * the limiter can be kept in memory.
 */
export type RateLimiter = {
  /**
   * Returns the endpoints with a rate limit that this worker has called, and how many calls to each of them may be
   * started now.
   */
  allowance: () => RateAllowance;
  /**
   * Records how many deliveries a claim had room for, to detect whether the endpoint's rate limit restricted the claim.
   */
  observe: (endpointId: number, room: number) => void;
  /**
   * Returns the IDs of endpoints that were held back by their rate limit and may now be called again. Each of these
   * endpoints is returned only once.
   */
  ready: () => number[];
  /** Records the start of a call. `perS` is the endpoint's rate limit per second, or null if it has none. */
  spend: (endpointId: number, perS: number | null) => void;
  /**
   * Returns the time until an endpoint that is held back by its rate limit may be called, in milliseconds. Returns null
   * if no endpoint is held back.
   */
  nextMs: () => number | null;
};

/**
 * Burst size, as a fraction of the number of calls per second. It is large enough to compensate for timers that fire
 * late.
 */
const burstS = 0.1;

/**
 * Token bucket of an endpoint. `offered` is the number of calls that the last claim was allowed. `waits` is true if the
 * rate limit restricted that claim.
 */
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
        // A full bucket can be deleted, because an endpoint without a bucket may start one call anyway.
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
